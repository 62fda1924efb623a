"""Numbers are not lost because a few cells hold something else."""

import numpy as np
import pandas as pd
import pytest
from coded import fails
from hypothesis import given
from hypothesis import strategies as st

import topbin as tb
from topbin.core.labels import NO_NUMBER
from topbin.data.columns import as_columns, mark_of, mixed_units
from topbin.data.features import Features, fit_features
from topbin.data.findings import check_table, find_useless
from topbin.data.formats.written import read_cell

NUMBERS = [18.0, 150.5, 95.25, 1204.0, 531.6, 5315.99]
KINDS = {
    "dollars": lambda v: f"${v:,.2f}",
    "euros": lambda v: f"{v:.2f} €",
    "code": lambda v: f"EUR {v:.2f}",
    "percent": lambda v: f"{v:.2f} %",
    "kilograms": lambda v: f"{v:.2f} kg",
    "no space": lambda v: f"{v:.2f}mg/dL",
    "thousands": lambda v: f"{v:,.2f}",
    "spaces": lambda v: f"{v:,.2f}".replace(",", "\u202f"),
    "apostrophes": lambda v: f"{v:,.2f}".replace(",", "'"),
    "exponents": lambda v: f"{v:e}",
    "german": lambda v: f"{v:,.2f}".translate({44: ".", 46: ","}),
    "german euros": lambda v: f"{v:,.2f} €".translate({44: ".", 46: ","}),
}
MISSING = ["?", "-", "unknown", ".", "n/a", "None", "–", "UNBEKANNT"]


def column(texts):
    return as_columns({"x": np.array(texts, object)})["x"]


def numbers_of(texts):
    features = fit_features({"x": np.array(texts, object)})
    (feature,) = features.features
    assert feature.kind == "number"
    again = Features.from_dict(features.to_dict())
    both = [each.encode({"x": np.array(texts, object)}) for each in (features, again)]
    np.testing.assert_array_equal(*both)
    return both[0][:, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["", *MISSING])
def test_each_kind_of_cell_is_read_as_its_number(kind, missing):
    texts = [KINDS[kind](v) for v in NUMBERS] + [missing] * 3
    np.testing.assert_allclose(numbers_of(texts), [*NUMBERS, *[np.nan] * 3], rtol=1e-4)


@pytest.mark.parametrize("word", MISSING)
def test_plain_numbers_with_a_word_for_missing(word):
    assert word.casefold() in NO_NUMBER
    np.testing.assert_array_equal(numbers_of(["18", "150", "95.5", word]), [18, 150, 95.5, np.nan])


def test_limits_are_just_beside_their_number():
    below, five, above, more = numbers_of(["<5", "5", "> 100", "100+", "7", "100"])[[0, 1, 2, 3]]
    assert 4.99 < below < five == 5
    assert 100 < above == more < 100.01
    assert read_cell("<-5").value < -5
    assert read_cell("<0").value < 0 < read_cell("≥0").value


def test_a_few_words_are_missing_and_many_are_not():
    texts = [str(i / 10) for i in range(100)]
    assert np.isnan(numbers_of([*texts, "broken"])[-1])
    assert mark_of(column([*texts, *["broken"] * 10])) is None


@pytest.mark.parametrize(
    "texts",
    [
        ["Ulm", "Rom, 5", "Bern", "Ulm"],
        ["007", "012", "044", "?"],  # codes
        ["C50.1", "D12.3", "C34", "?"],  # a letter in front is a code, too
        ["A-12", "B-7", "C-9"],
        ["1st", "2nd", "3rd", "4th"],
        ["2020-01-01", "2020-01-02", "2020-01-03", "?"],
        ["10-20", "20-30", "30-40", "?"],
        ["10115", "80331", "20095"],  # whole numbers as text, and nothing else: postcodes
        ["0", "-", "-", "0"],  # two values lose nothing as categories
    ],
)
def test_what_stays_text(texts):
    assert mark_of(column(texts)) is None


@pytest.mark.parametrize(
    ("texts", "units"),
    [
        (["$5", "$7.5", "€ 6", "€ 8"], ("$", "€")),
        (["3 kg", "500 g", "4 kg", "?"], ("g", "kg")),
        (["1.5M", "300", "2M", "7"], ("", "m")),  # a number without a unit is another size
    ],
)
def test_numbers_of_several_units_are_no_numbers_and_no_identifier(texts, units):
    assert mark_of(column(texts)) is None
    assert mixed_units(column(texts)) == units
    many = [f"{i}.5 {'kg' if i % 2 else 'g'}" for i in range(100)]
    found = find_useless(column(many))
    assert found.code == "numbers-as-text"
    assert 'units ("g" and "kg"), which cannot be compared' in found.sentence


def test_one_year_and_two_years_are_one_unit():
    assert numbers_of(["1 year", "2 years", "3 years"]).tolist() == [1, 2, 3]


@given(st.text(max_size=12))
def test_any_text_is_a_finite_number_or_none(text):
    for mark in ".,":
        cell = read_cell(text, mark)
        assert cell is None or np.isfinite(cell.value)


@given(st.lists(st.floats(-1e9, 1e9).map(lambda v: round(v, 2)), min_size=3, unique=True))
def test_what_is_written_with_a_unit_is_read_back(values):
    found = numbers_of([*(f"{v:,.2f} €" for v in values), "?"])
    np.testing.assert_allclose(found[:-1], values, rtol=1e-12, atol=1e-9)


# --- identifiers ---


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).permutation(900)[:300],  # all differ, and are dense
        np.random.default_rng(0).normal(size=300),
    ],
)
def test_numbers_are_no_identifier_because_they_differ(values):
    assert find_useless(as_columns({"amount": values})["amount"]) is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("case", np.random.default_rng(0).permutation(300)),  # a number for each row
        ("case", np.sort(np.random.default_rng(0).choice(10**6, 300, replace=False))),  # in order
        ("patient_id", np.random.default_rng(0).choice(10**6, 300, replace=False)),
    ],
)
def test_identifiers_are_still_seen(name, values):
    assert find_useless(as_columns({name: values})[name]).code == "identifier"


# --- tables ---


def table(n=300):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3 == 0
    size = rng.normal(50 + 20 * y, 5)
    price = pd.Series([f"${100 * v:,.2f}" for v in size])
    power = pd.Series([f"{10 * v:.0f}" for v in size])
    price[::11], power[::13], power[1::29] = "unknown", "?", "<400"
    known = y & (rng.random(n) < 0.5)
    return pd.DataFrame({"price": price, "power": power, "known": known})


@pytest.fixture(scope="module")
def result():
    return tb.fit(table(), "known", budget="fast")


def test_the_screen_says_how_cells_were_read(result):
    told = result.summary()
    assert "columns         2 numbers" in told
    assert 'odd-cells: "price" is read as numbers: ' in told
    assert '272 cells such as "$' in told
    assert '28 cells such as "unknown" (missing)' in told
    assert '11 cells such as "<400" (just below 400)' in told


def test_every_source_gives_the_same_answer(result, tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    table().to_parquet(tmp_path / "t.parquet")
    table().to_json(tmp_path / "t.json", orient="records")
    table().to_csv(tmp_path / "wide.csv", index=False, encoding="utf-16")
    for name in ("t.csv", "t.parquet", "t.json", "wide.csv"):
        other = tb.fit(tmp_path / name, "known", budget="fast")
        assert other.estimate == result.estimate, name
        odd = [f for f in other.data.findings if f.code == "odd-cells"]
        assert odd == [f for f in result.data.findings if f.code == "odd-cells"]


def test_two_files_of_which_one_has_odd_cells(tmp_path):
    frame = table()
    known, rest = frame[frame["known"]], frame[~frame["known"]]
    known = known[known["power"].str.isdigit() & (known["price"] != "unknown")]
    for name, part in (("known", known), ("rest", rest)):
        part.drop(columns=["known"]).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tb.fit(tmp_path / "rest.csv", positives=tmp_path / "known.csv", budget="fast")
    frames = tb.fit(rest.drop(columns="known").assign(power=rest["power"]),
                    positives=known.drop(columns="known").assign(power=known["power"].astype(int)),
                    budget="fast")  # fmt: skip
    assert [f.kind for f in files.data.encoder.features] == ["number", "number"]
    assert files.estimate == frames.estimate


def test_new_rows_are_read_as_in_the_fit(result, tmp_path):
    scorer = tb.load(result.save(tmp_path / "run"))
    new = table()[["price", "power"]]
    plain = pd.DataFrame(
        {
            "price": pd.to_numeric(new["price"].str.replace(r"[$,]", "", regex=True), "coerce"),
            "power": pd.to_numeric(new["power"].replace("<400", 400 * (1 - 1e-6)), "coerce"),
        }
    )
    odd, clean = (scorer.score(f)["topbin_probability"] for f in (new, plain))
    assert odd.tolist() == clean.tolist()
    new.to_csv(tmp_path / "new.csv", index=False)
    assert scorer.score(tmp_path / "new.csv")["topbin_probability"].tolist() == odd.tolist()
    new.loc[3, "power"] = "no idea"  # in the fit, a word was missing too
    plain.loc[3, "power"] = np.nan
    odd, clean = (scorer.score(f)["topbin_probability"] for f in (new, plain))
    assert odd.tolist() == clean.tolist()


def test_a_model_of_plain_numbers_reads_missing_words_and_refuses_others(tmp_path):
    frame = table().assign(power=np.arange(300.0) ** 1.01, price=lambda f: f["power"] % 7)
    scorer = tb.load(tb.fit(frame, "known", budget="fast").save(tmp_path / "run"))
    new = frame[["price", "power"]].astype(object)
    new.loc[3, "power"] = "?"
    found = scorer.score(new)["topbin_probability"]
    new.loc[3, "power"] = np.nan
    assert found.tolist() == scorer.score(new.astype(float))["topbin_probability"].tolist()
    with fails("TB109", "was a number when the model was fitted", '"high"'):
        scorer.score(frame[["price", "power"]].astype(str).replace("0.0", "high"))


def test_numbers_stay_text_if_asked():
    kept = tb.fit(table(), "known", budget="fast", read=tb.Read(decimal="text"))
    assert {f.kind for f in kept.data.encoder.features} == {"string"}


def test_a_frame_of_text_and_numbers_is_read_cell_by_cell():
    mixed = np.array([18, "?", 150.5, 95], object)
    assert fit_features({"x": mixed, "y": [1, 2, 1, 2]}).features[0].kind == "number"


def test_the_check_of_a_table_reads_them_too():
    codes = [f.code for f in check_table(table().drop(columns="known"), table()["known"])]
    assert "identifier" not in codes
