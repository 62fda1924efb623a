"""Frozen encoders: texts or images in, one vector per row out. One file per kind."""
