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

from topbin.data import Batch, Features, fit_features, open_table, read_table
from topbin.data.features import BESIDE_TEXT

ROWS = pd.DataFrame(
    {
        "amount": [1.5, np.nan, -2.0, 2.0],
        "town": ["Ulm", None, "Köln", " "],
        "paid": pd.array([True, None, False, True], dtype="boolean"),
        "day": pd.to_datetime(["2020-01-31 12:00", None, "2021-02-01 00:00", "2020-01-30 00:00"]),
    }
)
NAMES = ["amount", "town", "paid", "day year", "day month", "day weekday", "day days", "day hour"]
NAN = np.nan
CODED = [
    [1.5, 1, 1, 2020, 1, 4, 1.5, 12],
    [NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    [-2.0, 0, 0, 2021, 2, 0, 368, 0],
    [2.0, NAN, 1, 2020, 1, 3, 0, 0],
]


def through_json(features):
    return Features.from_dict(json.loads(json.dumps(features.to_dict(), allow_nan=False)))


def table(frame=ROWS):
    return Batch.from_frame(frame)


def test_each_kind_becomes_numbers():
    features = fit_features(table())
    X = features.encode(ROWS)
    assert features.names == NAMES
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, CODED)


def test_features_survive_json_and_know_themselves():
    features = fit_features(table())
    assert through_json(features) == features
    assert features.columns == ["amount", "town", "paid", "day"]
    assert not features.sparse


def test_new_rows_are_coded_alone_as_in_company_and_in_any_column_order():
    features = through_json(fit_features(table()))
    for i in range(len(ROWS)):
        row = ROWS.iloc[[i]][list(ROWS)[::-1]].assign(extra="x")
        np.testing.assert_array_equal(features.encode(row), CODED[i : i + 1])


def test_many_categories_are_also_told_apart_by_their_letters():
    towns = [f"{place}stadt {i}" for place in ("Karl", "Darm") for i in range(30)]
    frame = pd.DataFrame({"town": [*towns, *towns, None, " "]})
    features = through_json(fit_features(frame))
    assert features.names == ["town", *(f"town hash {i}" for i in range(16))]
    X = features.encode(frame)
    np.testing.assert_array_equal(X[:60], X[60:120])
    assert np.isnan(X[120:]).all()
    new = features.encode({"town": ["Karlstadt 77"]})[0]
    assert np.isnan(new[0])
    far = np.linalg.norm(X[:60, 1:] - new[1:], axis=1)
    assert far[:30].mean() < far[30:].mean()
    few = fit_features({"town": towns[:40] * 2})
    assert few.names == ["town"]


def test_dates_without_times_have_no_hour():
    days = pd.DataFrame({"day": pd.to_datetime(["1969-12-31", None, "2020-02-29"])})
    features = through_json(fit_features(days))
    assert features.names == ["day year", "day month", "day weekday", "day days"]
    expected = [[1969, 12, 2, 0], [NAN] * 4, [2020, 2, 5, 18322]]
    np.testing.assert_array_equal(features.encode(days), expected)
    later = days.assign(day=days["day"] + pd.Timedelta(hours=6))
    np.testing.assert_array_equal(features.encode(later)[:, 3], [0.25, NAN, 18322.25])


def test_a_new_category_is_missing():
    new = ROWS[:1].assign(town="Rom")
    assert np.isnan(fit_features(table()).encode(new)[0, NAMES.index("town")])


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
    features = fit_features(whole)
    batches = open_table(path).batches(features.columns, rows=2048)
    parts = [features.encode(batch) for batch in batches]
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate(parts), features.encode(whole))


def test_useless_columns_are_dropped_with_the_reason():
    n = 40
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 1, n),
            "same": 1,
            "empty": None,
            "claim": [f"c-{i}" for i in range(n)],
            "smiles": [f"CC(=O)Oc{i % 9}ccccc(C(O)=O){'C' * i}" for i in range(n)],
            "parts": [[1, 2]] * n,
            "label": [1, 0] * (n // 2),
        }
    )
    features = fit_features(table(frame), exclude=["label"])
    assert features.columns == ["x"]
    assert {column.name: column.reason for column in features.dropped} == {
        "same": '"same" is the same in every row.',
        "empty": '"empty" is empty in every row.',
        "claim": '"claim" looks like an identifier: 100 % are different.',
        "smiles": '"smiles" holds long strings, and 100 % are different. '
        'text=["smiles"] (--text smiles) reads their letters.',
        "parts": '"parts" holds lists, bytes, times or mixed values, which no model reads.',
    }
    assert through_json(features).dropped == features.dropped


def test_nothing_to_learn_from():
    with fails("TB108", "no column to learn from", '"a" is the same in every row'):
        fit_features(table(pd.DataFrame({"a": [1, 1]})))
    with fails("TB108", "Every column is left out"):
        fit_features(table(pd.DataFrame({"a": [1, 2]})), exclude=["a"])


def test_unknown_columns_are_refused():
    for names in ({"exclude": ["Town"]}, {"text": ["Town"]}):
        with fails("TB103", 'Did you mean "town"?'):
            fit_features(table(), **names)


# Text


@pytest.mark.parametrize(
    ("texts", "is_text"),
    [
        ([f"the claim of number {i} is late" for i in range(40)], True),
        ([f"the claim of number {i} is late" for i in range(20)] * 2, True),  # half are different
        ([f"the claim of number {i} is late" for i in range(10)] * 4, False),
        (["MKTAYIAKQRQISFVKSHFSR" + "ACDEFGHIKL"[i % 10] * (1 + i // 10) for i in range(40)], True),
        ([f"{i:08d}-1111-4222-8333-444455556666" for i in range(40)], False),
        (["Ulm", "Rom"] * 20, False),
    ],
)
def test_what_looks_like_text_is_read_as_text(texts, is_text):
    frame = pd.DataFrame({"x": np.arange(40) % 7, "note": texts})
    features = through_json(fit_features(table(frame)))
    kinds = {feature.name: feature.kind for feature in features.features}
    assert (kinds.get("note") == "text") == features.sparse == is_text


def test_short_texts_are_also_read_by_their_letters():
    words = ["claim", "bill", "storm", "roof"]
    texts = [f"{words[i % 4]} of {words[i % 3]}s number {i % 50}" for i in range(200)]
    features = through_json(fit_features({"note": texts}, text=["note"]))
    (note,) = features.features
    assert "claim of" in note.terms
    assert "cla" in note.letters
    X = features.encode({"note": ["claim of roofs", "zzz", None, "stormy"]})
    assert X.shape == (4, len(features.names)) == (4, len(note.terms) + len(note.letters))
    assert X[[1, 2]].nnz == 0
    assert X[[3]][:, : len(note.terms)].nnz == 0  # the word is new
    assert X[[3]].nnz > 0  # its letters are not
    long = fit_features({"note": [60 * text for text in texts]}, text=["note"]).features[0]
    assert long.letters == ()


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
    features = through_json(fit_features(table(frame), text=["note"]))
    X = features.encode(frame)
    assert features.sparse
    assert issparse(X)
    assert features.names[3:7] == ["x", "town a", "town b", "day year"]
    assert len(features.names) == X.shape[1]
    expected = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(frame["note"].fillna(""))
    np.testing.assert_array_equal(X[:, :3].toarray(), expected.toarray())
    x, towns = X[:, 3].toarray().ravel() / BESIDE_TEXT, X[:, 4:6].toarray() / BESIDE_TEXT
    np.testing.assert_allclose(x, [-1, 1, 0, -1, 1], rtol=1e-12)
    np.testing.assert_array_equal(towns, [[0, 1], [1, 0], [0, 0], [1, 0], [0, 1]])
    assert X.shape == (5, 10)
    assert np.isfinite(X.data).all()
    new = frame[:1].assign(note="unknown words", town="c", x=NAN)
    assert features.encode(new)[:, :6].nnz == 0


def test_numbers_of_any_size_stay_finite_in_a_sparse_table():
    for small, large in ((1e-320, 1e308), (1.0, -1.7e308)):
        frame = pd.DataFrame({"t": ["red car", "green car"], "x": [small, 2 * small]})
        features = fit_features(table(frame), text=["t"])
        rows = features.encode(frame.assign(x=[large, small])).toarray()
        assert np.isfinite(rows).all()
        assert np.abs(rows).max() == 1e6


def test_words_that_come_once_are_read_when_there_are_no_others():
    features = fit_features(table(pd.DataFrame({"t": ["red", "green"]})), text=["t"])
    assert features.features[0].terms == ("green", "red")


def test_text_without_words_is_refused():
    with fails("TB108", '"t" has no words'):
        fit_features(table(pd.DataFrame({"t": ["a", "!"], "x": [1, 2]})), text=["t"])
    with fails("TB108", '"x" holds numbers, not text'):
        fit_features(table(pd.DataFrame({"t": ["a", "!"], "x": [1, 2]})), text=["x"])


# Misfits


def test_a_missing_column_is_named():
    with fails("TB109", 'has no column "town"', 'Did you mean "Town"?'):
        fit_features(table()).encode(ROWS.rename(columns={"town": "Town"}))


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
        fit_features(table()).encode(ROWS.assign(**{column: values}))


def test_a_changed_text_is_named():
    features = fit_features(table(pd.DataFrame({"t": WORDS})), text=["t"])
    with fails("TB109", 'column "t" was text when the model was fitted and is a number'):
        features.encode(pd.DataFrame({"t": [1, 2]}))


def test_what_still_fits():
    features = fit_features(table())
    paid, amount = NAMES.index("paid"), NAMES.index("amount")
    assert features.encode(ROWS.assign(paid=[1, 0, None, 1]))[:2, paid].tolist() == [1, 0]
    yes_no = features.encode(ROWS.assign(amount=[True, False] * 2))
    assert yes_no[:, amount].tolist() == [1, 0] * 2
    blank = features.encode(ROWS.assign(**dict.fromkeys(ROWS)))
    assert np.isnan(blank).all()


def test_infinite_numbers_are_refused():
    with fails("TB004", 'column "amount" has 4 infinite values'):
        fit_features(table()).encode(ROWS.assign(amount=np.inf))


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
def test_damaged_features_are_refused(stored):
    with fails("TB110", "the stored encoder is damaged"):
        Features.from_dict(stored)


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
    features = attempt(lambda: fit_features(rows, text=text))
    if features is None:
        return
    X = attempt(features.encode, rows)
    if X is not None:
        again = through_json(features).encode(rows)
        both = [m.toarray() if features.sparse else m for m in (X, again)]
        np.testing.assert_array_equal(*both)
