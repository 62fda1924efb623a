"""Without dask, pyspark and torch the rest works, and asking for one of them names its extra."""

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


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_a_missing_engine_names_its_extra(tmp_path, engine):
    claims().assign(score=1.0).to_parquet(tmp_path / "a.parquet")
    given = "alpha", tmp_path / "a.parquet", "--score", "score", "--label", "known"
    done = python(MAIN, *given, "--engine", engine)
    assert done.returncode == 1
    package = {"dask": "distributed", "spark": "pyspark"}[engine]
    assert done.stderr.startswith(f'TB011 engine "{engine}" needs {package}: pip install "topbin[')
    assert f"topbin[{engine}]" in done.stderr


def test_a_missing_torch_names_its_extra():
    code = "import topbin, numpy as np\ntopbin.NNPUClassifier().fit(np.eye(4), [1, 1, 0, 0])\n"
    done = python(code)
    assert "TB011" in done.stderr
    assert 'pip install "topbin[torch]"' in done.stderr
