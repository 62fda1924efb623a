"""The one door through which optional packages enter."""

import os
from importlib import import_module
from types import ModuleType

from topbin.core.errors import MissingExtra

# Packages that report to their makers when they are imported, and the variable that stops them.
REPORTING = {"onnxruntime": "ORT_DISABLE_TELEMETRY"}


def require(module: str, *, extra: str | None, caller: str) -> ModuleType:
    """Import `module`, or say which extra brings it. Nothing is reported to anybody.

    >>> require("math", extra=None, caller="doctest").sqrt(4.0)
    2.0
    >>> require("no_such_package", extra="boost", caller="fit")
    Traceback (most recent call last):
    topbin.core.errors.MissingExtra: TB011 fit needs no_such_package: pip install "topbin[boost]"
    """
    package = module.partition(".")[0]
    if package in REPORTING:
        os.environ.setdefault(REPORTING[package], "1")
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there; something it needs is not
        wanted = f'"topbin[{extra}]"' if extra else package
        raise MissingExtra("TB011", f"{caller} needs {package}: pip install {wanted}") from error
