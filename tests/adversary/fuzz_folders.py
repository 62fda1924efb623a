"""Forged folders, loaded one after the other in a process that the test sees die or hang.

One file of a format is spoiled at a time, with a sum that fits, and read; what was read is used.
One line of JSON per format tells what happened.
"""

import copy
import json
import os
import random
import resource
import shutil
import sys
import time
import tomllib
import traceback
import warnings
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import tomli_w
from forge import forge
from stored import forge_result

import topbin as tb
from topbin.core.errors import TopbinError
from topbin.job import files
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import plan_audit, read_audit
from topbin.show.screen import run_lines
from topbin.store.models import load_encoder, reading
from topbin.store.runs import read_asked, read_events, read_result

DAY = os.environ.get("TOPBIN_DAY", time.strftime("%Y-%m-%d"))  # other files every day
X = np.random.default_rng(0).normal(size=(12, 3))
SPOILERS = [
    None, True, False, 0, 1, -1, 2, 7, 255, 10**6, -(10**6), 2**31, 2**63, 10**30, 0.5, -0.0, 1e308,
    "", "x", "a0", "a1", "\0", "\ud800", "NaN", [], [0], [[]], {}, {"a": 1}, {"$array": "a0"},
    {"$float": "nan"}, {"$tuple": []}, {"$dict": []}, {"$object": ["Pipeline", []]},
    {"$scalar": ["<f8", 1]}, {"$random": {}}, {"$slice": [0, 1, 2]},
    {"$tree": [1, 1, 1, {"$array": "a0"}, {"$array": "a1"}]},
    {"$sparse": ["csr_array", [2, 2], {"$array": "a0"}, {"$array": "a0"}, {"$array": "a0"}]},
]  # fmt: skip
WORDS = [
    "",
    "-1",
    "99999",
    "1e9",
    "nan",
    "0x1",
    "2147483648",
    "-2147483649",
    "1.5",
    "٣",
    "\r",
    "\0",
]


def places(value):
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def spoiled(value, rng):
    """A JSON value with one to three places changed."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        found = list(places(value))
        if not found:
            break
        holder, key = rng.choice(found)
        kind = rng.random()
        if kind < 0.15:
            del holder[key]
        elif kind < 0.35:
            other, place = rng.choice(found)
            holder[key] = copy.deepcopy(other.get(place) if isinstance(other, dict) else None)
        elif kind < 0.5 and isinstance(holder[key], list):
            holder[key] = holder[key] * rng.choice([0, 2, 50])
        elif kind < 0.7 and isinstance(holder[key], int | float):
            holder[key] = holder[key] * rng.choice([-1, 10, 10**6]) + rng.choice([-1, 0, 1])
        else:
            holder[key] = copy.deepcopy(rng.choice(SPOILERS))
    return value


def spoiled_array(array, rng):
    kind = rng.randrange(8)
    if kind == 0:
        return array[: array.shape[0] // 2] if array.ndim else array
    if kind == 1:
        return np.repeat(array, 2, axis=0) if array.ndim else array
    if kind == 2:
        return array.reshape(-1)[:, None]
    if kind == 3:
        return (
            array.astype(rng.choice(["u1", "f4", ">f8", "S3"])) if not array.dtype.names else array
        )
    content = bytearray(array.tobytes())
    for _ in range(rng.choice([1, 4, 40])):
        if content:
            content[rng.randrange(len(content))] = rng.choice([0, 1, 127, 255])
    return np.frombuffer(bytes(content), array.dtype).reshape(array.shape)


def spoiled_bytes(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 3, 30])):
        kind, place = rng.random(), rng.randrange(max(1, len(content)))
        if kind < 0.7 and content:
            content[place] = rng.randrange(256)
        elif kind < 0.85:
            del content[place : place + rng.choice([1, 8, 100])]
        else:
            content[place:place] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8])))
    return bytes(content)


def spoiled_text(text, rng):
    """A booster with a word or a line changed, and often with sizes made to fit."""
    if text.startswith("{"):  # XGBoost and CatBoost
        told = json.dumps(spoiled(json.loads(text), rng))
        return told if rng.random() < 0.9 else spoiled_bytes(told.encode(), rng).decode("latin-1")
    lines = text.split("\n")
    for _ in range(rng.choice([1, 1, 2])):
        place, kind = rng.randrange(len(lines)), rng.random()
        if kind < 0.6:
            name, equals, values = lines[place].partition("=")
            words = values.split(" ")
            words[rng.randrange(len(words))] = rng.choice([*WORDS, str(rng.randrange(-9, 9))])
            lines[place] = f"{name}{equals}{' '.join(words)}"
        elif kind < 0.7:
            del lines[place]
        elif kind < 0.8:
            lines.insert(place, rng.choice(lines))
        else:
            lines[place] += rng.choice(WORDS)
    text = "\n".join(lines)
    if rng.random() < 0.8 and "\nTree=" in text and "end of trees" in text:
        head, *trees = text[: text.index("end of trees")].split("Tree=")
        sizes = " ".join(str(len(f"Tree={tree}".encode())) for tree in trees)
        head = "\n".join(
            f"tree_sizes={sizes}" if line.startswith("tree_sizes=") else line
            for line in head.split("\n")
        )
        text = "Tree=".join([head, *trees]) + text[text.index("end of trees") :]
    return text


def as_json(value):
    return json.dumps(value).encode()


def use_model(folder):
    model = tb.load(folder)
    with reading(folder):  # as a scorer does
        model.predict_proba(X)
        if hasattr(model, "explain") and (folder / "boosters.json").exists():
            model.explain(X)


def model_json(folder, rng):
    stored = json.loads((folder / "model.json").read_bytes())
    stored["model"] = spoiled(stored["model"], rng)
    forge(folder, "model.json", as_json(stored if rng.random() < 0.9 else spoiled(stored, rng)))
    use_model(folder)


def arrays_npz(folder, rng):
    with np.load(folder / "arrays.npz") as stored:
        arrays = dict(stored)
    for name in rng.sample(sorted(arrays), min(len(arrays), rng.choice([1, 1, 3]))):
        arrays[name] = spoiled_array(arrays[name], rng)
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    content = buffer.getvalue()
    forge(folder, "arrays.npz", content if rng.random() < 0.8 else spoiled_bytes(content, rng))
    use_model(folder)


def boosters_json(folder, rng):
    texts = json.loads((folder / "boosters.json").read_bytes())
    forge(folder, "boosters.json", as_json([spoiled_text(text, rng) for text in texts]))
    use_model(folder)


def tensors(folder, rng):
    content = (folder / "tensors.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    if rng.random() < 0.7:
        header = as_json(spoiled(json.loads(content[8 : 8 + size]), rng))
        content = len(header).to_bytes(8, "little") + header + content[8 + size :]
    else:
        content = spoiled_bytes(content[: size + 200], rng) + content[size + 200 :]
    forge(folder, "tensors.safetensors", content)
    use_model(folder)


def encoder_json(folder, rng):
    stored = json.loads((folder / "model" / "encoder.json").read_bytes())
    forge(folder / "model", "encoder.json", as_json(spoiled(stored, rng)))
    load_encoder(folder / "model")


def result_json(folder, rng):
    result = spoiled(json.loads((folder / "result.json").read_text()), rng)
    try:
        forge_result(folder, result)
    except UnicodeEncodeError:
        (folder / "result.json").write_bytes(as_json(result))
    run_lines(read_result(folder))
    plan_audit(folder, 0.1)


def run_toml(folder, rng):
    settings = spoiled(tomllib.loads((folder / "run.toml").read_text()), rng)
    try:
        text = tomli_w.dumps(settings).encode()
    except (UnicodeEncodeError, TypeError):
        text = b"\xff"
    (folder / "run.toml").write_bytes(text if rng.random() < 0.8 else spoiled_bytes(text, rng))
    read_asked(folder)


def audit_json(folder, rng):
    content = as_json(spoiled(json.loads((folder / "audit.json").read_text()), rng))
    (folder / "audit.json").write_bytes(
        content if rng.random() < 0.8 else spoiled_bytes(content, rng)
    )
    if rng.random() < 0.2:
        read_audit(folder, folder / "answers.csv")
    else:
        draw_audit(folder, 3, folder / "again.csv", force=True, seed=rng.randrange(99))


def events_jsonl(folder, rng):
    content = (folder / "events.jsonl").read_bytes()
    (folder / "events.jsonl").write_bytes(spoiled_bytes(content, rng))
    read_events(folder / "events.jsonl")


def checkpoint(folder, rng):
    from topbin.learn.backends.checkpoint import load
    from topbin.learn.backends.torch import torch_backend
    from topbin.learn.learners import PVU

    path = folder / "c.safetensors"
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    if rng.random() < 0.5:
        part = rng.choice(["settings", "plain", "history"])
        inner = json.loads(header["__metadata__"][part])
        header["__metadata__"][part] = json.dumps(spoiled({"": inner}, rng).get("", None))
    else:
        header = spoiled(header, rng)
    told = as_json(header)
    path.write_bytes(len(told).to_bytes(8, "little") + told + content[8 + size :])
    global _backend
    _backend = _backend or torch_backend(PVU, np.zeros((2, 3), "float32"), net=small_net())
    for epoch in load(path, _backend):
        f"{epoch.epoch:d} {epoch.loss:.3f}"


_backend = None


def small_net():
    from torch import nn

    return nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))


SUMS = "SHA256SUMS"
# How each format is tried, and the files that this changes.
FORMATS = {
    "model.json": (model_json, ["model.json", SUMS]),
    "arrays.npz": (arrays_npz, ["arrays.npz", SUMS]),
    "boosters.json": (boosters_json, ["boosters.json", SUMS]),
    "tensors.safetensors": (tensors, ["tensors.safetensors", SUMS]),
    "encoder.json": (encoder_json, ["model/encoder.json", f"model/{SUMS}"]),
    "result.json": (result_json, ["result.json"]),
    "run.toml": (run_toml, ["run.toml"]),
    "audit.json": (audit_json, ["audit.json", "result.json"]),
    "events.jsonl": (events_jsonl, ["events.jsonl"]),
    "checkpoint": (checkpoint, ["c.safetensors"]),
}


def main(source, times, name):
    """Forge files of one format that many times; what was seen, by code."""
    attempt, changed = FORMATS[name]
    seen = Counter()
    kinds = sorted(source.iterdir())
    spoiled_folder = Path(shutil.copytree(source, source.parent / f"spoiled {name}"))
    for i in range(times):
        print(DAY, name, i, file=sys.stderr, flush=True)
        rng = random.Random(f"{DAY} {name} {i}")
        kind = kinds[i % len(kinds)].name
        folder = spoiled_folder / kind
        for path in changed:
            shutil.copyfile(source / kind / path, folder / path)
        try:
            attempt(folder, rng)
            seen["read"] += 1
        except TopbinError as error:
            seen[error.code] += 1
        except Exception:
            traceback.print_exc()
            seen["traceback"] += 1
    seen["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return seen


def fuzz(sources, times, told):
    """Forge the formats of each of these folders; the file `told` gets a line of JSON for each."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files.page = lambda *given: ""  # the pictures are not what is tried here
    with told.open("w") as lines:
        for source, names in sources.items():
            for name in names:
                print(json.dumps(main(source, times, name)), file=lines, flush=True)
