"""A run as an MLflow folder: data only, the columns of the model, and its bits."""

import json
import threading
import time
import urllib.request
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.data import Features, fit_features
from topbin.data.features import Feature
from topbin.store import mlflow_folder
from topbin.store.mlflow_folder import _made_up, _type, write_mlflow
from topbin.store.scorer import Scorer

NEW = claims(60, seed=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def served(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow") / "served"
    done = CliRunner().invoke(main, ["export", str(run), "--mlflow", str(folder)])
    assert done.exit_code == 0
    assert "MLflow runs     topbin.store.mlflow_folder" in done.stdout  # it says what is executed
    return folder


def loaded(folder):
    """What MLflow does with a folder: it imports the module and hands over the path."""
    about = json.loads((folder / "MLmodel").read_text())["flavors"]["python_function"]
    return import_module(about["loader_module"])._load_pyfunc(str(folder / about["data"]))


def body(frame):
    """The body of a request; Python's JSON keeps every bit of a float."""
    read = frame.drop(columns=["case", "known"]).assign(day=frame["day"].astype(str))
    rows = read.astype(object).where(read.notna(), None)
    return json.dumps({"dataframe_records": rows.to_dict("records")})


def test_the_module_that_mlmodel_names_gives_the_probabilities_of_the_run(run, served):
    expected = tb.load(run).score(NEW)[["topbin_probability", "topbin_positive"]]
    pd.testing.assert_frame_equal(loaded(served).predict(NEW), expected, check_exact=True)


def test_the_folder_holds_data_and_no_code(served):
    files = {path.name for path in served.rglob("*") if path.is_file()}
    assert files == {
        "MLmodel", "input_example.json", "serving_input_example.json", "requirements.txt",
        "python_env.yaml", "SHA256SUMS", "model.json", "arrays.npz", "boosters.json",
        "encoder.json",
    }  # fmt: skip
    about = json.loads((served / "MLmodel").read_text())["flavors"]
    assert set(about) == {"python_function"}
    assert set(about["python_function"]) == {"loader_module", "data", "env", "python_version"}


def test_the_signature_and_the_requirements_are_those_of_the_model(served):
    sides = json.loads((served / "MLmodel").read_text())["signature"]
    sides = {
        side: {c["name"]: c["type"] for c in json.loads(sides[side] or "[]")} for side in sides
    }
    assert sides["inputs"] == {"amount": "double", "day": "datetime", "town": "string"}
    assert sides["outputs"] == {"topbin_probability": "double", "topbin_positive": "boolean"}
    needed = [line.split("==") for line in (served / "requirements.txt").read_text().split()]
    assert needed[:2] == [["mlflow>=3"], ["topbin", tb.__version__]]
    assert [name for name, _ in needed[2:]] == [
        "numpy", "scipy", "scikit-learn", "pandas", "lightgbm",
    ]  # fmt: skip


def test_the_example_is_a_row_that_each_kind_of_column_can_have():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "amount": rng.normal(size=60),
            "paid": np.arange(60) % 3 == 0,
            "day": np.datetime64("2020-01-01") + np.arange(60).astype("m8[D]"),
            "town": np.resize(["Ulm", "Bern"], 60),
            "note": [f"loss of cargo number {i} at night in the harbour" for i in range(60)],
            "vector": list(rng.normal(size=(60, 3))),
        }
    )
    features = fit_features(frame, text=["note"])
    kinds = {f.name: _type(f)["type"] for f in features.features}
    assert kinds == {
        "amount": "double", "paid": "boolean", "day": "datetime", "town": "string",
        "note": "string", "vector": "array",
    }  # fmt: skip
    row = pd.DataFrame({f.name: [_made_up(f)] for f in features.features})
    row["day"] = pd.to_datetime(row["day"])
    assert features.encode(row).shape == (1, len(features.names))


def test_a_folder_is_replaced_only_if_asked(run, served):
    before = (served / "MLmodel").read_bytes()
    with fails("TB104"):
        write_mlflow(run, served)
    assert (served / "MLmodel").read_bytes() == before
    write_mlflow(run, served, force=True)
    assert (served / "MLmodel").read_bytes() != before  # it has another time


def test_what_mlflow_cannot_send_is_refused(tmp_path, monkeypatch):
    image = Feature(name="path", kind="image", shape=(3, 8, 8))
    monkeypatch.setattr(mlflow_folder, "read_scorer", lambda run: Scorer(None, Features((image,))))
    with fails("TB013", "reads images"):
        write_mlflow("run", tmp_path / "served")
    assert not (tmp_path / "served").exists()


@contextmanager
def listening(app):
    """The address of a server of this app on this machine."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    try:
        yield "http://{}:{}".format(*server.servers[0].sockets[0].getsockname())
    finally:
        server.should_exit = True
        thread.join(30)


def answers(address, content):
    """What MLflow's server says of a request, as any program would send it."""
    sent = urllib.request.Request(
        f"{address}/invocations", content.encode(), {"Content-Type": "application/json"}
    )
    plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with plain.open(sent, timeout=60) as answer:
        return json.load(answer)["predictions"]


def test_mlflow_itself_serves_the_same_bits(run, served):
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="needs pip install mlflow")
    server = pytest.importorskip("mlflow.pyfunc.scoring_server")
    model = pyfunc.load_model(str(served))
    expected = tb.load(run).score(NEW)["topbin_probability"]
    assert model.predict(NEW)["topbin_probability"].tolist() == expected.tolist()
    with listening(server.init(model)) as address:
        said = answers(address, body(NEW))
        assert [row["topbin_probability"] for row in said] == expected.tolist()
        assert len(answers(address, (served / "serving_input_example.json").read_text())) == 1
