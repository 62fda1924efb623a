"""CatBoost models as CatBoost's own JSON, of which only what scores rows is kept, and checked.

The text is read into the types below and written again from them, so CatBoost sees nothing else.
Symmetric trees over columns of numbers are stored; other trees, categories, words and embeddings
are not.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec
from msgspec import Struct

from topbin.store.safe.trees import forged, require_that

MOST_SPLITS = 16  # of a symmetric tree: CatBoost's own limit


class _Strict(Struct, forbid_unknown_fields=True):
    """Fields as named, and no others."""


class _Column(_Strict):
    borders: list[float]
    feature_id: str
    feature_index: int
    flat_feature_index: int
    has_nans: bool
    nan_value_treatment: Literal["AsIs", "AsFalse", "AsTrue"]


class _Columns(_Strict):
    float_features: list[_Column]


class _Split(_Strict):
    border: float
    float_feature_index: int
    split_index: int
    split_type: Literal["FloatFeature"]


class _Tree(_Strict):
    leaf_values: list[float]
    leaf_weights: list[float]
    splits: list[_Split] | None


class _Classes(_Strict):
    class_label_type: Literal["Integer"]
    class_names: tuple[Literal[0], Literal[1]]
    class_to_label: tuple[Literal[0], Literal[1]]
    classes_count: Literal[0]


class _About(Struct):
    """What CatBoost says about the fit; all but the classes is left out."""

    class_params: _Classes


class _Model(_Strict):
    features_info: _Columns
    model_info: _About
    oblivious_trees: list[_Tree]
    scale_and_bias: tuple[float, tuple[float]]


def checked(text: str | bytes) -> bytes:
    """The text of a CatBoost model, written again; TB110 if it is not as CatBoost writes it."""
    try:
        model = msgspec.json.decode(text, type=_Model)
    except (msgspec.DecodeError, RecursionError) as error:
        raise forged(f"only symmetric trees over numbers, for two classes: {error}") from error
    places: dict[tuple[int, float], int] = {}  # of each border of each column, counted through
    for number, column in enumerate(model.features_info.float_features):
        counted = column.feature_index == column.flat_feature_index == number
        require_that(counted, "its columns are out of order")
        rising = sorted(set(column.borders)) == column.borders
        require_that(rising, "the borders of a column are out of order")
        places |= {(number, border): len(places) + k for k, border in enumerate(column.borders)}
    for tree in model.oblivious_trees:
        splits = tree.splits or []
        require_that(len(splits) <= MOST_SPLITS, f"it has more than {MOST_SPLITS} splits")
        lengths = {len(tree.leaf_values), len(tree.leaf_weights)}
        require_that(lengths == {2 ** len(splits)}, "its lists differ in length")
        for split in splits:
            place = places.get((split.float_feature_index, split.border))
            require_that(place == split.split_index, "a split is at no border of a column")
    return msgspec.json.encode(model)


def text_of(model: Any) -> str | None:
    """The checked text of a classifier; None if it was not fitted."""
    if not model.is_fitted():
        return None
    with TemporaryDirectory() as folder:  # it writes JSON only into files
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return checked(path.read_bytes()).decode()


def load(catboost: Any, params: dict[str, Any], text: str | None) -> Any:
    """A classifier of these parameters, and of this text if it was fitted."""
    model = catboost.CatBoostClassifier(**params)
    if text is not None:
        content = checked(text)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            model.load_model(str(path), format="json")
        model._init_params = params  # loading replaces them by those of the text, which has none
        model._n_features_in = len(model.get_feature_importance())  # which it keeps, as a fit does
    return model
