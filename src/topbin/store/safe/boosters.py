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
from topbin.store.safe.trees import check_range, check_splits, forged, require_that

INT = r"-?\d{1,10}"
FLOAT = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|inf|nan)"
TOKEN = r"[^ \n\r\t\0]+"
END = "end of trees\n"
MOST_LEAVES = 131_072  # LightGBM's own limit


def _some(item: str) -> str:
    return rf"(?:{item}(?: {item})*)?"


HEADER = re.compile(
    "tree\nversion=v[34]\nnum_class=(?P<k>[1-9]\\d{0,4})\nnum_tree_per_iteration=(?P=k)\n"
    rf"label_index=0\nmax_feature_idx=(?P<last>\d{{1,9}})\nobjective="
    rf"(?:binary sigmoid:{FLOAT}|cross_entropy|multiclass num_class:(?P<classes>(?P=k)))\n"
    rf"(?:average_output\n)?feature_names=(?P<names>{_some(TOKEN)})\n"
    rf"(?:monotone_constraints=(?P<signs>{_some('(?:-1|0|1)')})\n)?"
    rf"feature_infos=(?P<infos>{_some(TOKEN)})\ntree_sizes=(?P<sizes>{_some(INT)})\n\n",
    re.ASCII,
)
# The lists of a tree in order, one item per leaf (`leaf_…`) or per inner node, and those of whole
# numbers. A tree with categories has two more, of any length.
LISTS = ["split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"]
LISTS += [f"{at}_{what}" for at in ("leaf", "internal") for what in ("value", "weight", "count")]
CATEGORIES = ["cat_boundaries", "cat_threshold"]
WHOLE = {"split_feature", "decision_type", "left_child", "right_child", *CATEGORIES}
WHOLE |= {"leaf_count", "internal_count"}
LINES = {
    name: re.compile(rf"{name}=({_some(INT if name in WHOLE else FLOAT)})\n")
    for name in LISTS + CATEGORIES
}
LAST = re.compile(rf"is_linear=0\nshrinkage={FLOAT}\n\n\n")


def trees_only(text: str) -> str:
    """The text up to the end of its trees, if every line of it is as LightGBM writes it.

    TB110 otherwise: a position outside the tree, a list of another length, a line out of order.
    """
    header = HEADER.match(text)
    if header is None:
        raise forged("its header is not one that LightGBM writes for classes")
    columns = int(header["last"]) + 1
    for name in ("names", "infos", "signs"):
        if header[name] is not None and len(header[name].split(" ")) != columns:
            raise forged(f"it has {columns:,} columns, and its {name} differ in length")
    k, trees = int(header["k"]), len(header["sizes"].split())
    fits = (k == 1) == (header["classes"] is None) and trees % k == 0 and (trees or k == 1)
    require_that(fits, "its trees do not fit its classes")
    data, start = text.encode(), len(header[0].encode())  # sizes are in bytes
    for number, size in enumerate(map(int, header["sizes"].split())):
        # What is not ASCII becomes a character that no line may have.
        block = data[start : start + max(size, 0)].decode("ascii", errors="replace")
        _check_tree(block, number, columns)
        start += size
    ends = data[start:].startswith(END.encode())
    require_that(ends, "its trees are not where its header says")
    return data[:start].decode() + END


def _check_tree(block: str, number: int, columns: int) -> None:
    head = re.match(rf"Tree={number}\nnum_leaves=(\d{{1,6}})\nnum_cat=(\d{{1,6}})\n", block)
    if head is None or not 1 <= int(head[1]) <= MOST_LEAVES:
        raise forged("a tree is not where its header says")
    leaves, n_cat = int(head[1]), int(head[2])
    lists, rest = {}, block[head.end() :]
    for name in LISTS + (CATEGORIES if n_cat else []):
        found = LINES[name].match(rest)
        if found is None:
            raise forged(f"its line {name} is missing or spelled in another way")
        lists[name], rest = found[1].split(), rest[found.end() :]
        due = {leaves if name.startswith("leaf_") else leaves - 1}
        if leaves == 1 and name in ("leaf_weight", "leaf_count"):
            due.add(0)  # a tree of one leaf states its value, and other figures or not
        fits = name in CATEGORIES or len(lists[name]) in due
        require_that(fits, f"its lists differ in length: {name} has {len(lists[name]):,} items")
    require_that(LAST.fullmatch(rest), "its leaves are linear models, or its last lines are others")
    _check_positions(lists, leaves, columns, n_cat)


def _check_positions(lists: dict[str, list[str]], leaves: int, columns: int, n_cat: int) -> None:
    whole = {name: _ints(items) for name, items in lists.items() if name in WHOLE}
    sides = [whole[side] for side in ("left_child", "right_child")]
    for side in sides:
        check_range(side, -leaves, leaves - 1)  # a leaf is stored as −1 − its number
    # The leaves are counted on behind the inner nodes.
    sides = [np.where(side < 0, leaves - 2 - side, side) for side in sides]
    features = whole["split_feature"]
    check_splits(np.arange(leaves - 1), sides, 2 * leaves - 1, features, columns)
    check_range(whole["decision_type"], 0, 12)
    is_category = whole["decision_type"] % 2 == 1
    places = [text for text, chosen in zip(lists["threshold"], is_category, strict=True) if chosen]
    spelled = all(re.fullmatch(INT, place) for place in places)
    require_that(spelled, "the place of a set of categories is not a whole number")
    check_range(_ints(places), 0, n_cat)
    if n_cat:
        bounds, words = whole["cat_boundaries"], whole["cat_threshold"]
        fits = bounds.size == n_cat + 1 and bounds[0] == 0 and bounds[-1] == words.size
        require_that(fits and (np.diff(bounds) >= 0).all(), "its category lists do not fit")
        check_range(words, 0, 2**32)


def _ints(items: list[str]) -> Any:
    return np.array([int(item) for item in items], np.int64)


def load_booster(text: str, lightgbm: Any) -> Any:
    """A LightGBM model of checked text."""
    try:
        return lightgbm.Booster(model_str=trees_only(text))
    except lightgbm.basic.LightGBMError as error:
        raise InputError("TB110", f"a stored booster is damaged: {error}.") from error
