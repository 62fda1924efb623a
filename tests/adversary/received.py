"""A run folder as somebody else could send it, made of a file that the receiver has."""

import hashlib
import json
import tomllib

import tomli_w
from claims import claims, small_run
from forge import forge_json
from stored import forge_result

FILE = "claims.parquet"


def file_run(folder):
    """A run that was made from `claims.parquet` beside it, which it can vouch for."""
    run = small_run(folder / "run")
    (run / "unlabeled.parquet").unlink()
    claims().to_parquet(folder / FILE)
    forge_settings(run, source=[str(folder / FILE)], label="known", id="case")
    vouch(run, folder / FILE)
    return run


def forge_settings(run, **settings):
    """Write run.toml anew, with these settings only."""
    (run / "run.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")


def change_settings(run, **settings):
    """Change some of the settings; None removes one."""
    before = tomllib.loads((run / "run.toml").read_text(encoding="utf-8"))
    found = {**before, **settings}
    forge_settings(run, **{name: value for name, value in found.items() if value is not None})


def vouch(run, path, option="source", content=None):
    """Let result.json say that this file has the size and sum of `content`, or its own."""
    content = path.read_bytes() if content is None else content
    told = {"option": option, "path": str(path), "size": len(content)}
    change_data(run, files=[{**told, "sum": hashlib.sha256(content).hexdigest()}])


def change_data(run, **data):
    """Change what result.json says about the data, with a sum that fits."""
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    result["data"] |= data
    forge_result(run, result)


def change_encoder(run, **fields):
    """Let the model say that the towns are texts which an encoder reads, with these fields."""

    told = {"name": "town", "kind": "encoded", "size": 4, "digest": "0" * 64, **fields}

    def change(stored):
        return {**stored, "features": [told]}

    forge_json(run / "model", "encoder.json", change)
