"""Read models that lag behind the events, catch up before they answer, and can be rebuilt."""
