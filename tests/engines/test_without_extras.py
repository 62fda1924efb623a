"""Without dask, pyspark and torch the rest works, and asking for one of them names its extra."""

import json
import subprocess
import sys

import pytest
from claims import claims

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dask", "distributed", "pyspark", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def python(code, *arguments):
    given = [sys.executable, "-c", BLOCKED + code, *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, check=False)


MAIN = "from topbin.cli import main\nmain(sys.argv[1:])\n"


def test_import_and_fit_need_none_of_them(tmp_path):
    claims().to_csv(tmp_path / "a.csv", index=False)
    run = tmp_path / "run"
    given = "fit", tmp_path / "a.csv", "--label", "known", "--preset", "fast", "-o", run
    done = python("import topbin\ntopbin.fit, topbin.TEDnClassifier\n" + MAIN, *given)
    assert done.returncode == 0, done.stderr
    assert "unlabeled are positive" in done.stdout
    assert (run / "report.html").exists()


ASK_FOR_EACH = """
import json, numpy as np, topbin
from click.testing import CliRunner
from topbin.cli import main
said = {}
for engine in ("dask", "spark"):
    done = CliRunner().invoke(main, [*sys.argv[1:], "--engine", engine])
    said[engine] = done.exit_code, done.stderr
try:
    topbin.NNPUClassifier().fit(np.eye(4), [1, 1, 0, 0])
except ImportError as error:
    said["torch"] = 1, str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Exit code and what is said where an engine or a net is asked for, in one process."""
    path = tmp_path_factory.mktemp("missing") / "a.parquet"
    claims().assign(score=1.0).to_parquet(path)
    done = python(ASK_FOR_EACH, "alpha", path, "--score", "score", "--label", "known")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("spark", "pyspark")])
def test_a_missing_engine_names_its_extra(said, engine, package):
    code, text = said[engine]
    assert code == 1
    assert text.startswith(f'TB011 engine "{engine}" needs {package}: pip install "topbin[')
    assert f"topbin[{engine}]" in text


def test_a_missing_torch_names_its_extra(said):
    assert "TB011" in said["torch"][1]
    assert 'pip install "topbin[torch]"' in said["torch"][1]
