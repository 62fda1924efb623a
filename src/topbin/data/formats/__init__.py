"""One file per kind of source, and what the ones that DuckDB reads share."""
