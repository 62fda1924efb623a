"""How each kind of source is read, what DuckDB does for it, and dates and numbers in text."""
