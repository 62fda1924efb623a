"""Labels: every way people mark positives, and a clear refusal of the rest."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topbin.core import InputError, read_labels
from topbin.core.labels import code_labels, resolve_labels

TWO_OF_FIVE = [True, False, False, True, False]
SPELLINGS = {
    "ones and zeros": [1, 0, 0, 1, 0],
    "ones and minus ones": [1, -1, -1, 1, -1],
    "booleans": [True, False, False, True, False],
    "one or NaN": [1.0, np.nan, np.nan, 1.0, np.nan],
    "one or None": [1, None, None, 1, None],
    "True or None": [True, None, None, True, None],
    "int8": np.array([1, 0, 0, 1, 0], np.int8),
    "object numbers": np.array([1, 0, 0, 1, 0], object),
    "a column vector": np.array([[1], [0], [0], [1], [0]]),
    "pandas": pd.Series([1, 0, 0, 1, 0]),
    "pandas nullable": pd.Series([1, None, None, 1, None], dtype="Int64"),
    "pandas nullable booleans": pd.Series([True, None, None, True, None], dtype="boolean"),
    "polars": pl.Series([1, 0, 0, 1, 0]),
    "polars with nulls": pl.Series([1, None, None, 1, None]),
    "arrow": pa.array([1, 0, 0, 1, 0]),
}


@pytest.mark.parametrize("s", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_spelling_reads_the_same(s):
    labels = read_labels(s)
    assert labels.is_positive.tolist() == TWO_OF_FIVE
    assert labels.n_p == 2
    assert labels.n_u == 3
    assert not labels.is_negative.any()


@pytest.mark.parametrize(
    "s",
    [
        ["yes", "no", "no", "yes", "no"],
        ["yes", None, "", "yes", "  "],
        ["yes", "no", None, "yes", "maybe"],
        pd.Series(["yes", "no", "no", "yes", "no"], dtype="category"),
        pl.Series(["yes", None, None, "yes", None]),
        pa.array(["yes", None, None, "yes", None]),
    ],
)
def test_strings_need_positive_and_all_else_is_unlabeled(s):
    assert read_labels(s, positive="yes").is_positive.tolist() == TWO_OF_FIVE
    assert read_labels(s, positive="yes").n_u == 3


def test_known_negatives_are_kept_apart():
    labels = read_labels([1, 0, -1, 1, 0], positive=1, negative=-1)
    assert labels.is_negative.tolist() == [False, False, True, False, False]
    assert labels.is_unlabeled.tolist() == [False, True, False, False, True]
    assert labels.unlabeled == (0,)
    assert labels.note == (
        "1 = positive (2 rows), -1 = known negative (1 row), 0 = unlabeled (2 rows)"
    )


def test_a_value_is_found_however_its_letters_are_written():
    for typed, held in (("si\u0301", "S\u00cd"), ("STRASSE", "Stra\u00dfe")):
        assert read_labels([held, "x"], positive=typed).positive == held


def test_negative_alone_means_one_is_positive():
    assert read_labels([1, 0, -1], negative=-1).n_u == 1


def test_three_values_show_counts_and_the_likely_reading():
    s = ["yes"] * 4 + ["no"] * 3 + [None] * 2
    with pytest.raises(InputError, match="TB002") as caught:
        read_labels(s)
    assert "'yes' (4), 'no' (3), blank (2)" in caught.value.message
    assert "positive='yes', negative='no'   (blank = unlabeled)" in caught.value.message


def test_three_numbers_suggest_one_and_minus_one():
    with pytest.raises(InputError, match=r"positive=1, negative=-1   \(0 = unlabeled\)"):
        read_labels([1, 0, -1])


def test_a_zero_is_not_guessed_to_be_negative():
    with pytest.raises(InputError, match=r"Likely: positive=1   \(0, 2 = unlabeled\)$"):
        read_labels([0, 1, 2])


@pytest.mark.parametrize(
    "s", [np.linspace(0, 1, 30), list(range(7)), ["a", "b"], ["a", "b", None], ["no", None], ["0"]]
)
def test_no_guess_is_made_without_a_reason(s):
    with pytest.raises(InputError, match="TB002") as caught:
        read_labels(s)
    assert caught.value.message.endswith('Which means "positive"? Say which value it is: positive=')


@pytest.mark.parametrize(
    "s", [["yes", None, ""], ["ja", None, None], pd.Series([7.0, np.nan]), pa.array(["x", None])]
)
def test_the_only_value_marks_the_positives(s):
    labels = read_labels(s)
    assert labels.n_p == 1
    assert labels.unlabeled == (None,)
    assert labels.note.endswith("; there is no other value")
    shown = "7" if labels.positive == 7 else repr(labels.positive)  # as a file has it
    assert labels.note.startswith(f"{shown} = positive (1 row), blank = unlabeled (")


def test_the_note_of_many_values_is_short_and_begins_with_the_positive_one():
    s = [f"C{i:05d}" for i in range(2500)]
    note = read_labels(s, positive="C01000", negative="C02000").note
    assert note.startswith(
        "'C01000' = positive (1 row), 'C02000' = known negative (1 row), 'C00000'"
    )
    assert note.endswith(", … and 2,492 more = unlabeled (2,492 rows)")


def test_many_values_are_cut_short():
    with pytest.raises(InputError, match=r"TB002 the label column has 30 values.*and 22 more"):
        read_labels([f"v{i}" for i in range(30)])


@pytest.mark.parametrize(
    ("s", "options", "code"),
    [
        ([], {}, "TB001"),
        ([[1, 0], [0, 1]], {}, "TB005"),
        ([1, 1], {}, "TB003"),
        ([0, 0], {}, "TB003"),
        ([None, None], {}, "TB003"),
        ([0, -1], {}, "TB003"),
        ([2, 0], {}, "TB002"),
        (["a", "b"], {}, "TB002"),
        (["a", "a"], {}, "TB003"),
        (["a", "b"], {"positive": "c"}, "TB003"),
        (["a", "b"], {"positive": "a", "negative": "c"}, "TB003"),
        (["a", "b"], {"positive": "a", "negative": "a"}, "TB002"),
        (["a", "b"], {"positive": "a", "negative": "b"}, "TB003"),
        ([[1], [0, 1]], {}, "TB005"),
        (np.array([[1], {}], dtype=object), {}, "TB006"),
    ],
)
def test_what_cannot_be_read_is_refused_by_code(s, options, code):
    with pytest.raises(InputError) as caught:
        read_labels(s, **options)
    assert caught.value.code == code


@given(st.lists(st.sampled_from([1, 0]), min_size=2).filter(lambda s: len(set(s)) == 2))
def test_row_order_and_spelling_do_not_matter(s):
    labels = read_labels(s)
    assert read_labels(s[::-1]).is_positive.tolist() == labels.is_positive.tolist()[::-1]
    as_words = ["p" if value else "u" for value in s]
    assert (read_labels(as_words, positive="p").is_positive == labels.is_positive).all()
    assert labels.n_p + labels.n_u == len(s)


@pytest.mark.parametrize(
    ("column", "typed", "found"),
    [
        (["yes", "no"], "yes", "yes"),
        (["Yes", "No"], "yes", "Yes"),
        (["YES", "yes"], "yes", "yes"),
        ([1, 0], "1", 1),
        ([1.5, 0.0], "1.5", 1.5),
        ([1.0, None], "1", 1.0),
        (["1", "2"], "1", "1"),
        ([True, False], "true", True),
        ([True, False], "1", True),
        (["a ", "b"], " a", "a"),
        (["a", None], None, "a"),
    ],
)
def test_a_typed_word_is_the_columns_own_value(column, typed, found):
    value = resolve_labels(code_labels(pd.Series(column)).counts(), positive=typed).positive
    assert (value, type(value)) == (found, type(found))


def test_a_word_that_no_value_is_spelled_like_is_refused():
    for column in (["a", "c"], [None, None], [1, 0]):
        with pytest.raises(InputError, match="TB003 no row has the positive value 'b'"):
            read_labels(column, positive="b")
