"""The whole job in one call: from a table to how many, which rows, and how far to trust it."""
