"""Estimators that read features instead of scores, and how both samples are made ready."""
