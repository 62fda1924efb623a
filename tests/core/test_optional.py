"""Optional packages: found, missing, or broken inside."""

import sys

import pytest

from topbin.core.errors import InputError, MissingExtra
from topbin.core.optional import REPORTING, require


def test_a_present_package_comes_back():
    assert require("json", extra="torch", caller="x").dumps([1]) == "[1]"


def test_a_missing_package_names_the_extra():
    with pytest.raises(MissingExtra, match=r'fit needs absent_pkg: pip install "topbin\[torch\]"'):
        require("absent_pkg.inner", extra="torch", caller="fit")


def test_without_an_extra_the_package_itself_is_named():
    with pytest.raises(ImportError, match="x needs absent_pkg: pip install absent_pkg"):
        require("absent_pkg", extra=None, caller="x")


def test_a_package_that_lacks_something_itself_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import something_else_entirely\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "half_installed", raising=False)
    with pytest.raises(ModuleNotFoundError, match="something_else_entirely"):
        require("half_installed", extra="torch", caller="x")


def test_errors_survive_a_process_border():
    import pickle  # what process pools use between themselves; nothing is stored

    error = pickle.loads(pickle.dumps(InputError("TB001", "no rows.")))
    assert (error.code, error.message, str(error)) == ("TB001", "no rows.", "TB001 no rows.")


@pytest.mark.parametrize(("package", "variable"), REPORTING.items())
def test_a_package_that_reports_to_its_maker_is_told_not_to(
    tmp_path, monkeypatch, package, variable
):
    (tmp_path / f"{package}.py").write_text(f"import os\nseen = os.environ[{variable!r}]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setenv(variable, "")  # so that it is put back
    monkeypatch.delenv(variable)
    assert require(package, extra=None, caller="a test").seen == "1"
    del sys.modules[package]
    monkeypatch.setenv(variable, "0")  # what the user has said stays
    assert require(package, extra=None, caller="a test").seen == "0"
    del sys.modules[package]
