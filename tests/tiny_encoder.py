"""An encoder of images that needs no weights: the brightest row and the brightest column."""

import hashlib
import json

import numpy as np
from onnx import TensorProto, helper

from topbin.data.encoders.images import ImageEncoder, load_model, signature, waves

SIDE = 12


def tiny_model(axes=(3, 2)):
    """The bytes of a model: of each colour the brightest row, then the brightest column."""
    nodes = []
    for axis in axes:
        nodes += [
            helper.make_node("ReduceMean", ["x"], [f"mean {axis}"], axes=[axis], keepdims=0),
            helper.make_node("ReduceMax", [f"mean {axis}"], [f"max {axis}"], axes=[2], keepdims=0),
        ]
    nodes += [helper.make_node("Concat", [f"max {axis}" for axis in axes], ["vectors"], axis=1)]
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["n", 6])],
    )  # fmt: skip
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def described(folder, content, **changed):
    """Write a model and a description of it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(content)
    pixels = waves(SIDE) / 255
    brightest = [pixels.mean(axis=axis).max(axis=0) for axis in (1, 0)]
    about = {
        "name": "tiny", "side": SIDE, "mean": [0, 0, 0], "scale": [255, 255, 255],
        "sha256": hashlib.sha256(content).hexdigest(),
        "check": signature(np.concatenate(brightest)).tolist(), **changed,
    }  # fmt: skip
    (folder / "encoder.json").write_text(json.dumps(about))
    return folder


def tiny_encoder(root):
    """The folder of the encoder."""
    folder = described(root / "tiny", tiny_model())
    load_model(ImageEncoder(str(folder)))  # it does what its description says
    return folder
