"""The model of a run as a folder that MLflow loads and serves.

    MLmodel                      which module loads it, and the columns that go in and come out
    model/                       the model folder of `topbin.store.models`, after an audit if any
    input_example.json           a row made up of what the encoder knows; it is nobody's own
    serving_input_example.json   the same as the body of a request
    requirements.txt             topbin and the versions that the model was saved with
    python_env.yaml              the same for MLflow, if it is to make an environment

MLflow is not needed to write it: MLmodel is YAML, of which JSON is a part. There is no code and no
pickle in the folder. MLflow imports the module that MLmodel names, which is this one, and
`_load_pyfunc` reads `model` with the checks of `load`.
"""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import topbin
from topbin.core.atomic import PathLike, new_folder
from topbin.core.errors import InputError
from topbin.data.features import Feature
from topbin.store.models import DESCRIPTION_FILE, save, versions_of
from topbin.store.runs import MODEL
from topbin.store.scorer import (
    CLASS,
    NOVEL,
    POSITIVE,
    PROBABILITY,
    Scorer,
    open_scorer,
    read_scorer,
)

EXAMPLE, REQUEST = "input_example.json", "serving_input_example.json"
REQUIREMENTS, ENVIRONMENT = "requirements.txt", "python_env.yaml"
# In MLflow's words; all other kinds are strings.
TYPES = {"number": "double", "number or date": "double", "boolean": "boolean", "date": "datetime"}
ALWAYS = ("numpy", "scipy", "scikit-learn", "pandas")
# Packages that a model needs if its model.json has this mark; xgboost has two names.
MARKED = {
    "$lightgbm": ("lightgbm",),
    "$xgboost": ("xgboost", "xgboost-cpu"),
    "$catboost": ("catboost",),
    "$backend": ("torch", "safetensors"),
}


def write_mlflow(run: PathLike, folder: PathLike, *, force: bool = False) -> None:
    """Write the model of a run as an MLflow folder, all of it or nothing.

    A model that reads images, or texts by an encoder in a folder of its own, is TB013: neither
    those files nor that folder would travel along.
    """
    scorer = read_scorer(Path(run))
    features = scorer.encoder.features
    if any(f.encoder or f.shape for f in features):
        message = f'the model of "{run}" reads images, or texts by an encoder of another folder, '
        raise InputError("TB013", message + "and MLflow sends neither. Use topbin score.")
    example = {"columns": [f.name for f in features], "data": [[_made_up(f) for f in features]]}
    texts = {
        "MLmodel": _mlmodel(scorer),
        EXAMPLE: example,
        REQUEST: {"dataframe_split": example},
        ENVIRONMENT: {
            "python": platform.python_version(),
            "build_dependencies": ["pip"],
            "dependencies": [f"-r {REQUIREMENTS}"],
        },
    }
    with new_folder(folder, force=force) as part:
        save(scorer.model, part / MODEL, encoder=scorer.encoder)
        for name, value in texts.items():
            (part / name).write_text(json.dumps(value, indent=2) + "\n", encoding="ascii")
        (part / REQUIREMENTS).write_text(_requirements(part / MODEL), encoding="ascii")


def _requirements(model: Path) -> str:
    """What the model needs, in the versions it was saved with, so that its numbers are the same."""
    about = (model / DESCRIPTION_FILE).read_text(encoding="utf-8")
    marked = [name for mark, names in MARKED.items() if f'"{mark}"' in about for name in names]
    pins = {"topbin": topbin.__version__, **versions_of((*ALWAYS, *marked))}
    # The part after a plus names a build, such as that without CUDA, which an index may not have.
    pinned = [f"{name}=={version.partition('+')[0]}\n" for name, version in pins.items()]
    return "".join(["mlflow>=3\n", *pinned])


def _mlmodel(scorer: Scorer) -> Mapping[str, Any]:
    """What MLmodel says; the two sides of the signature are JSON within it."""
    inputs = [{**_type(f), "name": f.name, "required": True} for f in scorer.encoder.features]
    out = _outputs(scorer).items()
    outputs = [{"type": kind, "name": name, "required": True} for name, kind in out]
    return {
        "flavors": {
            "python_function": {
                "loader_module": __name__,
                "data": MODEL,
                "env": {"virtualenv": ENVIRONMENT},
                "python_version": platform.python_version(),
            }
        },
        "metadata": {"topbin": topbin.__version__},
        "saved_input_example_info": {
            "artifact_path": EXAMPLE,
            "serving_input_path": REQUEST,
            "type": "dataframe",
            "pandas_orient": "split",
        },
        "signature": {"inputs": json.dumps(inputs), "outputs": json.dumps(outputs), "params": None},
        "utc_time_created": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}",
    }


def _outputs(scorer: Scorer) -> dict[str, str]:
    if hasattr(scorer.model, "novel_"):
        return {NOVEL: "double", CLASS: "string"}
    return {PROBABILITY: "double", POSITIVE: "boolean"}


def _type(feature: Feature) -> Mapping[str, Any]:
    if feature.kind == "vector":
        return {"type": "array", "items": {"type": "double"}}
    return {"type": TYPES.get(feature.kind, "string")}


def _made_up(feature: Feature) -> Any:
    """A cell of the example: zero, or the first category, day or words of the fit."""
    if feature.kind == "vector":
        return [0.0] * (len(feature.mean) or feature.size)
    if TYPES.get(feature.kind) == "double":
        return 0.0
    plain = {"boolean": False, "date": feature.first_day, "text": " ".join(feature.terms[:3])}
    return plain.get(feature.kind, (*feature.categories, "")[0])


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """What MLflow calls: the new columns of `topbin score`, and only these."""

    scorer: Scorer

    def predict(self, frame: Any, params: Any = None) -> Any:
        """p(positive) among the unlabeled, and whether it is > .5, for each row."""
        return self.scorer.score(frame)[[*_outputs(self.scorer)]]


def _load_pyfunc(path: str) -> Served:
    """The model in `path`; MLflow looks for a function of this name."""
    return Served(open_scorer(path))
