"""One file per kind of source; what those that DuckDB reads share; dates and numbers in text."""
