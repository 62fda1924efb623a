"""The worked examples of CONTRIBUTING.md work as printed, and its paths exist."""

import doctest
import importlib.util
import re
import sys
import types
from pathlib import Path

import pandas as pd
import pytest
from coded import fails
from score_files import scored, whole

import topbin as tb
from topbin.data import table as tables
from topbin.data import write_table
from topbin.engines import Local, engine, tails_from
from topbin.learn import learners
from topbin.mpe import registry as methods

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ADDED = {  # by the worked examples
    "src/topbin/mpe/half.py",
    "tests/mpe/test_half.py",
    "src/topbin/data/formats/stata.py",
    "src/topbin/engines/serial.py",
}


def blocks(title):
    """The code blocks of a section."""
    section = PAGE.split(f"\n## Add {title}: ")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


def as_module(monkeypatch, name, source):
    """The block as the module that it would be in the package; its doctests pass."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(source, vars(module))
    assert doctest.testmod(module).failed == 0
    return module


def load_tests(path):
    """A test file of the project as a module, apart from the one that pytest runs."""
    spec = importlib.util.spec_from_file_location(f"again_{Path(path).stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_estimator_is_a_file_a_line_and_a_test(monkeypatch):
    source, line, test = blocks("an estimator")
    module = as_module(monkeypatch, "topbin.mpe.half", source)
    added = eval("{" + line + "}", vars(methods) | {"half": module.half})
    monkeypatch.setitem(methods.METHODS, "half", added["half"])

    assert tb.estimate_alpha([1.0] * 40, [1.0, 0.0] * 20, method="half").alpha == 0.5
    own = {}
    exec(test, own)
    own["test_equals_the_definition"]()
    own["test_only_the_order_of_scores_matters"]()
    contract = load_tests("tests/contract/test_methods.py")
    for alpha in contract.ALPHAS:
        contract.test_recovers_alpha_on_gaussians("half", alpha)
    contract.test_row_order_does_not_change_a_bit("half")


def test_a_learner_is_a_value_a_line_and_a_test(monkeypatch):
    source, line, test = blocks("a learner")
    table = dict(vars(learners))
    exec(source + line, table)
    assert table["LEARNERS"].keys() == {*learners.LEARNERS, "double"}
    monkeypatch.setitem(learners.LEARNERS, "double", table["DOUBLE"])

    assert learners.find_learner("double").threshold(0.5) == pytest.approx(0.6931, abs=1e-4)
    risk = load_tests("tests/learn/test_risk.py")
    risk.OBJECTIVES |= eval("{" + test + "}")
    risk.test_every_learner_has_its_objective_here()
    for loss in ("logistic", "sigmoid"):
        risk.test_value_is_the_papers_objective(name="double", kind=loss)
    risk.test_what_each_learner_says_about_itself()


def test_a_net_is_a_function_and_a_line(monkeypatch):
    pytest.importorskip("torch", reason='needs pip install "topbin[torch]"')
    from topbin.learn import nets

    source, line = blocks("a net")
    table = dict(vars(nets))
    exec(source, table)
    checked = doctest.DocTestFinder().find(table["one_layer"], "one_layer", globs=table)
    assert [doctest.DocTestRunner().run(one).failed for one in checked] == [0]
    monkeypatch.setitem(nets.NETS, "one-layer", eval("{" + line + "}", table)["one-layer"])

    tests = load_tests("tests/learn/test_nets.py")
    tests.test_every_net_gives_two_outputs_and_its_seed_decides("one-layer")
    tests.test_learning_rates_are_the_papers()
    plan = tb.learn.NetPlan(epochs=1)
    rows = tests.torch.arange(80.0).reshape(20, 4).numpy()
    assert len(tb.PvUClassifier("one-layer", plan=plan).fit_pu(rows, -rows).history_) == 1


def test_an_input_format_is_a_file_and_a_line(monkeypatch, tmp_path):
    source, line = blocks("an input format")
    module = as_module(monkeypatch, "topbin.data.formats.stata", source)
    added = vars(tables) | {"stata": module}
    exec(line, added)
    assert [f.name for f in added["FORMATS"]] == [*(f.name for f in tables.FORMATS), "stata"]
    monkeypatch.setattr(tables, "FORMATS", added["FORMATS"])

    rows = scored(300)
    pd.DataFrame(rows).to_stata(tmp_path / "a.dta", write_index=False)
    assert tb.data.read_table(tmp_path / "a.dta").frame["score"].tolist() == list(rows["score"])
    found = tails_from(Local(), tmp_path / "a.dta", score="score", label="label")
    assert found == whole(rows)
    (tmp_path / "b.dta").write_text("not Stata")
    with fails("TB102", 'b.dta" cannot be read'):
        tb.data.read_table(tmp_path / "b.dta")


def test_an_engine_is_a_file_and_a_line(monkeypatch, tmp_path):
    source, line = blocks("an engine")
    as_module(monkeypatch, "topbin.engines.serial", source)
    added = eval("{" + line + "}", vars(engine))
    monkeypatch.setitem(engine.ENGINES, "serial", added["serial"])

    rows = scored(300)
    write_table(tmp_path / "a.parquet", pd.DataFrame(rows))
    with engine.open_engine("serial") as serial:
        found = tails_from(serial, tmp_path / "a.parquet", score="score", label="label")
    assert found == whole(rows)


def test_the_paths_exist():
    named = set(re.findall(r"`((?:src|tests|bench|docs)/[\w./]+)`", PAGE))
    assert len(named) > 20
    assert [path for path in sorted(named - ADDED) if not (ROOT / path).exists()] == []
    assert {path for path in named if not (ROOT / path).exists()} == ADDED


def test_every_room_is_in_the_table():
    rooms = {path.parent.name for path in (ROOT / "src/topbin").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `src/topbin/(\w+)` ", PAGE, re.M))
