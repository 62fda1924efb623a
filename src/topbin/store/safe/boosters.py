"""LightGBM models as text, in a grammar so narrow that LightGBM can read nothing else into it.

LightGBM's own reader takes many spellings and follows every position unchecked. Here each line must
be the one that is due, in the spelling that LightGBM writes, with whole numbers where positions
belong and lists as long as the number of leaves says. What follows the trees (importances,
parameters) is not needed to score rows: it is not kept, and LightGBM is never shown it.
"""

import re
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.store.safe.trees import check_children, check_each_once, check_range, forged

INT = r"-?\d{1,10}"
FLOAT = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|inf|nan)"
TOKEN = r"[^ \n\r\t\0]+"
END = "end of trees\n"
MOST_LEAVES = 131_072  # LightGBM's own limit


def _some(item: str) -> str:
    return rf"(?:{item}(?: {item})*)?"


HEADER = re.compile(
    "tree\nversion=v[34]\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
    rf"max_feature_idx=(?P<last>\d{{1,9}})\nobjective=(?:binary sigmoid:{FLOAT}|cross_entropy)\n"
    rf"(?:average_output\n)?feature_names=(?P<names>{_some(TOKEN)})\n"
    rf"(?:monotone_constraints=(?P<signs>{_some('(?:-1|0|1)')})\n)?"
    rf"feature_infos=(?P<infos>{_some(TOKEN)})\ntree_sizes=(?P<sizes>{_some(INT)})\n\n",
    re.ASCII,
)
# The lines of a tree, in order: how an item is spelled, and whether there is one per inner node
# (-1) or per leaf (0); None is any number, checked apart.
LINES: tuple[tuple[str, str, int | None], ...] = (
    ("split_feature", INT, -1),
    ("split_gain", FLOAT, -1),
    ("threshold", FLOAT, -1),
    ("decision_type", INT, -1),
    ("left_child", INT, -1),
    ("right_child", INT, -1),
    ("leaf_value", FLOAT, 0),
    ("leaf_weight", FLOAT, 0),
    ("leaf_count", INT, 0),
    ("internal_value", FLOAT, -1),
    ("internal_weight", FLOAT, -1),
    ("internal_count", INT, -1),
)
CATEGORIES = (("cat_boundaries", INT, None), ("cat_threshold", INT, None))
LAST = re.compile(rf"is_linear=0\nshrinkage={FLOAT}\n\n\n")


def trees_only(text: str) -> str:
    """The text up to the end of its trees, if every line of it is as LightGBM writes it.

    TB110 otherwise: a position outside the tree, a list of another length, a line out of order.
    """
    header = HEADER.match(text)
    if header is None:
        raise forged("its header is not one that LightGBM writes for two classes")
    columns = int(header["last"]) + 1
    for name in ("names", "infos", "signs"):
        if header[name] is not None and len(header[name].split(" ")) != columns:
            raise forged(f"it has {columns:,} columns, and its {name} differ in length")
    data, start = text.encode(), len(header[0].encode())  # sizes are in bytes
    for number, size in enumerate(map(int, header["sizes"].split())):
        _check_tree(_ascii(data[start : start + max(size, 0)]), number, columns)
        start += size
    if not data[start:].startswith(END.encode()):
        raise forged("its trees are not where its header says")
    return data[:start].decode() + END


def _ascii(block: bytes) -> str:
    try:
        return block.decode("ascii")
    except UnicodeDecodeError as error:
        raise forged("a tree holds something else than numbers") from error


def _check_tree(block: str, number: int, columns: int) -> None:
    head = re.match(rf"Tree={number}\nnum_leaves=(\d{{1,6}})\nnum_cat=(\d{{1,6}})\n", block)
    if head is None or not 1 <= int(head[1]) <= MOST_LEAVES:
        raise forged("a tree is not where its header says")
    leaves, n_cat = int(head[1]), int(head[2])
    lines = LINES + (CATEGORIES if n_cat else ())
    lists, rest = {}, block[head.end() :]
    for name, item, per in lines:
        found = re.match(rf"{name}=({_some(item)})\n", rest)
        if found is None:
            raise forged(f"its line {name} is missing or spelled in another way")
        lists[name], rest = found[1].split(), rest[found.end() :]
        # A tree of one leaf states its value, and other figures or not.
        optional = leaves == 1 and name in ("leaf_weight", "leaf_count")
        if (
            per is not None
            and len(lists[name]) != leaves + per
            and not (optional and not lists[name])
        ):
            raise forged(f"its lists differ in length: {name} has {len(lists[name]):,} items")
    if not LAST.fullmatch(rest):
        raise forged("its leaves are linear models, or its last lines are others")
    _check_positions(lists, leaves, columns, n_cat)


def _check_positions(lists: dict[str, list[str]], leaves: int, columns: int, n_cat: int) -> None:
    whole = {name: _ints(lists[name]) for name, item, _ in LINES + CATEGORIES
             if item == INT and name in lists}  # fmt: skip
    at = np.arange(leaves - 1)
    for side in ("left_child", "right_child"):
        is_leaf = whole[side] < 0  # a leaf is stored as −1 − its number
        check_range(-1 - whole[side][is_leaf], 0, leaves)
        check_children(at[~is_leaf], whole[side][~is_leaf], leaves - 1)
    check_each_once(np.concatenate([whole["left_child"], whole["right_child"]]))
    check_range(whole["split_feature"], 0, columns)
    check_range(whole["decision_type"], 0, 12)
    is_category = whole["decision_type"] % 2 == 1
    places = [text for text, chosen in zip(lists["threshold"], is_category, strict=True) if chosen]
    if not all(re.fullmatch(INT, place) for place in places):
        raise forged("the place of a set of categories is not a whole number")
    _check_categories(_ints(places), whole, n_cat)


def _check_categories(places: Any, whole: dict[str, Any], n_cat: int) -> None:
    check_range(places, 0, n_cat)
    if n_cat:
        bounds, words = whole["cat_boundaries"], whole["cat_threshold"]
        fits = bounds.size == n_cat + 1 and bounds[0] == 0 and bounds[-1] == words.size
        if not fits or (np.diff(bounds) < 0).any():
            raise forged("its category lists do not fit")
        check_range(words, 0, 2**32)


def _ints(items: list[str]) -> Any:
    return np.array([int(item) for item in items], np.int64)


def load_booster(text: str, lightgbm: Any) -> Any:
    """A LightGBM model of checked text."""
    try:
        return lightgbm.Booster(model_str=trees_only(text))
    except lightgbm.basic.LightGBMError as error:
        raise InputError("TB110", f"a stored booster is damaged: {error}.") from error
