"""Features: what each kind becomes, the same for new rows, stored as JSON; misfits are coded."""

import json

import numpy as np
import pandas as pd
import pytest
from coded import attempt, fails
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.feature_extraction.text import TfidfVectorizer

from topbin.data import Batch, Encoder, fit_encoder, open_table, read_table

ROWS = pd.DataFrame(
    {
        "amount": [1.5, np.nan, -2.0, 2.0],
        "town": ["Ulm", None, "Köln", " "],
        "paid": pd.array([True, None, False, True], dtype="boolean"),
        "day": pd.to_datetime(["2020-01-31 12:00", None, "2021-02-01 00:00", "2020-01-30 00:00"]),
    }
)
NAMES = ["amount", "town", "paid", "day year", "day month", "day weekday", "day days"]
NAN = np.nan
CODED = [
    [1.5, 1, 1, 2020, 1, 4, 1.5],
    [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    [-2.0, 0, 0, 2021, 2, 0, 368],
    [2.0, NAN, 1, 2020, 1, 3, 0],
]


def through_json(encoder):
    return Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))


def table(frame=ROWS):
    return Batch.from_frame(frame)


def test_each_kind_becomes_numbers():
    X = fit_encoder(table()).encode(ROWS)
    assert list(X) == NAMES
    assert (X.dtypes == "float64").all()
    np.testing.assert_array_equal(X.to_numpy(), CODED)


def test_an_encoder_survives_json_and_knows_itself():
    encoder = fit_encoder(table())
    assert through_json(encoder) == encoder
    assert encoder.columns == ["amount", "town", "paid", "day"]
    assert not encoder.sparse


def test_new_rows_are_coded_alone_as_in_company_and_in_any_column_order():
    encoder = through_json(fit_encoder(table()))
    for i in range(len(ROWS)):
        row = ROWS.iloc[[i]][list(ROWS)[::-1]].assign(extra="x")
        np.testing.assert_array_equal(encoder.encode(row).to_numpy(), CODED[i : i + 1])


def test_a_new_category_is_missing():
    new = ROWS[:1].assign(town="Rom")
    assert np.isnan(fit_encoder(table()).encode(new)["town"][0])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_chunks_of_a_file_are_coded_like_the_whole(tmp_path, ending):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=6000),
            "c": np.where(np.arange(6000) < 3000, None, "b"),
            "b": np.where(np.arange(6000) < 3000, None, True),
        }
    )
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    whole = read_table(path)
    encoder = fit_encoder(whole, keep=["c", "b"])
    parts = [
        encoder.encode(chunk) for chunk in open_table(path).batches(encoder.columns, rows=2048)
    ]
    assert len(parts) > 1
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), encoder.encode(whole))


def test_useless_columns_are_dropped_with_the_reason():
    n = 40
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 1, n),
            "same": 1,
            "empty": None,
            "claim": [f"c-{i}" for i in range(n)],
            "note": [f"the claim of number {i} is late" for i in range(n)],
            "parts": [[1, 2]] * n,
            "label": [1, 0] * (n // 2),
        }
    )
    encoder = fit_encoder(table(frame), exclude=["label"])
    assert encoder.columns == ["x"]
    assert {column.name: column.reason for column in encoder.dropped} == {
        "same": '"same" is the same in every row.',
        "empty": '"empty" is empty in every row.',
        "claim": '"claim" looks like an identifier: 100 % are different.',
        "note": '"note" looks like free text: 100 % are different. '
        'Read its words with --text "note".',
        "parts": '"parts" holds lists, bytes, times or mixed values, which no model reads.',
    }
    assert through_json(encoder).dropped == encoder.dropped
    kept = fit_encoder(table(frame), exclude=["label"], keep=["claim", "same", "empty"])
    assert kept.columns == ["x", "same", "claim"]


def test_nothing_to_learn_from():
    with fails("TB108", "no column to learn from", '"a" is the same in every row'):
        fit_encoder(table(pd.DataFrame({"a": [1, 1]})))
    with fails("TB108", "every column is left out"):
        fit_encoder(table(pd.DataFrame({"a": [1, 2]})), exclude=["a"])


def test_unknown_columns_are_refused():
    for names in ({"exclude": ["Town"]}, {"text": ["Town"]}, {"keep": ["Town"]}):
        with fails("TB103", 'Did you mean "town"?'):
            fit_encoder(table(), **names)


# Text

WORDS = ["late claim", "late payment of claim", None, "payment", "late late claim"]


def test_text_makes_a_sparse_table():
    frame = pd.DataFrame(
        {
            "note": WORDS,
            "x": [1.0, 3.0, NAN, 1.0, 3.0],
            "town": ["b", "a", None, "a", "b"],
            "day": pd.to_datetime(["2020-01-01"] * 4 + ["2021-01-01"]),
        }
    )
    encoder = through_json(fit_encoder(table(frame), text=["note"]))
    X = encoder.encode(frame)
    assert encoder.sparse
    assert issparse(X)
    expected = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(frame["note"].fillna(""))
    np.testing.assert_array_equal(X[:, :3].toarray(), expected.toarray())
    np.testing.assert_array_equal(X[:, 3].toarray().ravel(), [-1, 1, 0, -1, 1])
    np.testing.assert_array_equal(X[:, 4:6].toarray(), [[0, 1], [1, 0], [0, 0], [1, 0], [0, 1]])
    assert X.shape == (5, 10)
    assert np.isfinite(X.data).all()
    new = frame[:1].assign(note="unknown words", town="c", x=NAN)
    assert encoder.encode(new)[:, :6].nnz == 0


def test_numbers_of_any_size_stay_finite_in_a_sparse_table():
    for small, large in ((1e-320, 1e308), (1.0, -1.7e308)):
        frame = pd.DataFrame({"t": ["red car", "green car"], "x": [small, 2 * small]})
        encoder = fit_encoder(table(frame), text=["t"])
        rows = encoder.encode(frame.assign(x=[large, small])).toarray()
        assert np.isfinite(rows).all()
        assert np.abs(rows).max() == 1e6


def test_words_that_come_once_are_read_when_there_are_no_others():
    encoder = fit_encoder(table(pd.DataFrame({"t": ["red", "green"]})), text=["t"])
    assert encoder.features[0].terms == ("green", "red")


def test_text_without_words_is_refused():
    with fails("TB108", '"t" has no words'):
        fit_encoder(table(pd.DataFrame({"t": ["a", "!"], "x": [1, 2]})), text=["t"])
    with fails("TB108", '"x" is number, not text'):
        fit_encoder(table(pd.DataFrame({"t": ["a", "!"], "x": [1, 2]})), text=["x"])


# Misfits


def test_a_missing_column_is_named():
    with fails("TB109", 'has no column "town"', 'Did you mean "Town"?'):
        fit_encoder(table()).encode(ROWS.rename(columns={"town": "Town"}))


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("amount", "many", "was a number when the model was fitted and is a string"),
        ("town", 3, "was a string when the model was fitted and is a number"),
        ("day", "soon", "was a date when the model was fitted and is a string"),
        ("paid", "yes", "was a boolean when the model was fitted and is a string"),
        ("paid", 7, "was a boolean when the model was fitted"),
    ],
)
def test_a_changed_type_is_named(column, values, words):
    with fails("TB109", f'column "{column}"', words):
        fit_encoder(table()).encode(ROWS.assign(**{column: values}))


def test_a_changed_text_is_named():
    encoder = fit_encoder(table(pd.DataFrame({"t": WORDS})), text=["t"])
    with fails("TB109", 'column "t" was text when the model was fitted and is a number'):
        encoder.encode(pd.DataFrame({"t": [1, 2]}))


def test_what_still_fits():
    encoder = fit_encoder(table())
    assert encoder.encode(ROWS.assign(paid=[1, 0, None, 1]))["paid"].tolist()[:2] == [1, 0]
    assert encoder.encode(ROWS.assign(amount=[True, False] * 2))["amount"].tolist() == [1, 0] * 2
    blank = encoder.encode(ROWS.assign(**dict.fromkeys(ROWS)))
    assert blank.isna().all(axis=None)


def test_infinite_numbers_are_refused():
    with fails("TB004", 'column "amount" has 4 infinite values'):
        fit_encoder(table()).encode(ROWS.assign(amount=np.inf))


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"features": [{"name": "x"}], "dropped": []},
        {"features": [{"name": "x", "kind": "number", "run": "rm"}], "dropped": []},
        {"features": [{"name": "x", "kind": "magic"}], "dropped": []},
        {"features": [{"name": "x", "kind": "text", "terms": ["a"]}], "dropped": []},
        {"features": ["x"], "dropped": []},
        {"features": None, "dropped": []},
        {"features": [], "dropped": [{"name": "x"}]},
    ],
)
def test_a_damaged_encoder_is_refused(stored):
    with fails("TB110", "the stored encoder is damaged"):
        Encoder.from_dict(stored)


columns = st.one_of(
    *(
        st.lists(st.one_of(st.none(), values), min_size=4, max_size=4)
        for values in (
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=4),
            st.datetimes(),
            st.binary(max_size=2),
            st.one_of(st.integers(), st.text(max_size=2)),
        )
    )
)


@settings(max_examples=120, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), columns, min_size=1), st.booleans())
def test_any_table_is_encoded_or_refused_with_a_code(frame, as_text):
    rows = attempt(Batch.from_frame, pd.DataFrame(frame))
    if rows is None:
        return
    text = [c for c, kind in rows.kinds.items() if kind == "string"] if as_text else []
    encoder = attempt(lambda: fit_encoder(rows, text=text))
    if encoder is None:
        return
    X = attempt(encoder.encode, rows)
    if X is not None:
        again = through_json(encoder).encode(rows)
        both = [m.toarray() if encoder.sparse else m.to_numpy() for m in (X, again)]
        np.testing.assert_array_equal(*both)
