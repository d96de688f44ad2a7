"""Windows with contents: as people see them, compared, grouped, measured."""
