"""Labels that depend on the row: subtypes of positives, named attributes, and a test."""
