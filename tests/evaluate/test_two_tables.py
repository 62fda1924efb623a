import numpy as np
import pandas as pd
import pytest

from topbin.core import InputError
from topbin.evaluate import check_two_tables, compare_columns, overlap_ids

RNG = np.random.default_rng(0)


def test_columns_of_one_table_only_and_types_that_differ():
    first = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [1.5, 2.5], "d": [True, False]})
    second = pd.DataFrame({"b": [1, 2], "c": [1, 2], "d": [0, 1], "e": [None, None]})
    second["f"], first["f"] = pd.to_datetime(["2026-01-01"] * 2), ["today", "then"]
    first["e"] = [1, 2]
    found = compare_columns(first, second, names=("model", "file"))
    assert [(f.code, f.column) for f in found] == [
        ("missing-column", "a"),
        ("type-differs", "b"),
        ("type-differs", "f"),
        ("empty-column", "e"),
    ]
    assert [f.sentence for f in found] == [
        '"a" is only in the model.',
        '"b" holds text in the model and numbers in the file.',
        '"f" holds text in the model and dates in the file.',
        '"e" is empty in the file and not in the other table.',
    ]


def test_equal_tables_have_no_difference():
    table = {"a": [1, 2], "b": ["x", None], "c": [None, None]}
    assert compare_columns(table, table) == ()


def test_two_tables_are_checked_as_one():
    n_p, n_u = 100, 300
    x = RNG.normal(size=n_u)
    positives = {
        "id": np.arange(n_p),
        "x": np.r_[x[:30], RNG.normal(size=n_p - 30)],
        "leak": ["yes"] * n_p,
        "only": np.ones(n_p),
    }
    unlabeled = {"leak": ["no"] * n_u, "id": np.arange(n_p, n_p + n_u), "x": x}
    found = check_two_tables(positives, unlabeled)
    assert [(f.code, f.column) for f in found] == [
        ("missing-column", "only"),
        ("identifier", "id"),
        ("leak", "leak"),
    ]
    unlabeled["leak"] = ["yes"] * n_u
    found = check_two_tables(positives, unlabeled)
    assert (found[-1].code, found[-1].figure) == ("overlap", 30)
    assert found[-2].code == "constant"


def test_whole_numbers_in_one_file_and_floats_in_the_other_are_equal():
    found = check_two_tables({"a": [1, 2, 3]}, {"a": [3.0, 2.5, np.nan]})
    assert [(f.code, f.figure) for f in found] == [("overlap", 1)]


def test_tables_with_no_common_column_say_only_that():
    codes = [f.code for f in check_two_tables({"a": [1]}, {"b": [1]})]
    assert codes == ["missing-column"] * 2


def test_ids_are_the_same_however_they_are_stored():
    (finding,) = overlap_ids([1, 2, 3, 3], np.array([3.0, 4.0]))
    assert (finding.code, finding.figure) == ("overlap", 2)
    assert finding.sentence == "2 of 4 positives have the same id as a row among the unlabeled."
    assert overlap_ids(pd.Series([" a", "b"]), ["a "])[0].figure == 1
    assert overlap_ids(["a"], ["b"]) == ()


def test_a_name_used_twice_is_refused():
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"^TB115 two columns are called 'a'"):
        check_two_tables(twice, twice)
