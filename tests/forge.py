"""Folders changed the way an attacker would change them: with sums that fit."""

import hashlib
import json
from io import BytesIO

import numpy as np


def forge(folder, name, content):
    """Replace a file of a model folder and state its sum anew."""
    (folder / name).write_bytes(content)
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    kept = [line for line in lines if not line.endswith(f"  {name}")]
    sums = [*kept, f"{hashlib.sha256(content).hexdigest()}  {name}"]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def forge_json(folder, name, change):
    """Replace a JSON file by what `change` makes of its content."""
    forge(folder, name, json.dumps(change(json.loads((folder / name).read_bytes()))).encode())


def forge_arrays(folder, change):
    """Replace the arrays by what `change` makes of each name and array."""
    with np.load(folder / "arrays.npz") as stored:
        arrays = {name: change(name, stored[name]) for name in stored.files}
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    forge(folder, "arrays.npz", buffer.getvalue())


def nodes_of(value, kind):
    """Every node of a kind in a description, such as the content of each "$tree"."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == kind:
                yield item
            yield from nodes_of(item, kind)
    elif isinstance(value, list):
        for item in value:
            yield from nodes_of(item, kind)
