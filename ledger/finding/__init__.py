"""Sessions, searches and the lives of items, answered from the caches."""
