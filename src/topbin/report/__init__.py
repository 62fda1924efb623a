"""The report: one self-contained page that a person can read, from what a run found."""

from topbin.report.page import fragment, page

__all__ = ["fragment", "page"]
