"""Folders of images as rows: which files, how one is decoded, and where the pixels are kept."""
