"""Two passes over files give the tails of all rows at once; what cannot be used is said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_files import scored, spoil, whole, write

import topbin as tb
from topbin.core.errors import InputError
from topbin.engines import Local, count_from, open_engine, tails_from
from topbin.engines import count as count_module

COLUMNS = {"score": "score", "label": "label"}
ENGINE = Local(threads=2)


@pytest.mark.parametrize("kind", ["float32", "float64", "int16", "int64"])
def test_files_give_the_tails_of_all_rows_at_once(tmp_path, kind):
    table = scored(kind=kind)
    found = tails_from(ENGINE, write(tmp_path, table), **COLUMNS)
    assert found == whole(table)
    assert found.cuts.dtype == whole(table).cuts.dtype


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_cut_into_files_gives_the_same(tmp_path_factory, data):
    table = scored(data.draw(st.integers(40, 200)), seed=data.draw(st.integers(0, 99)), ties=3)
    rows = len(table["score"])
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=4)))
    folder = tmp_path_factory.mktemp("cut")
    pattern = write(folder, table, cuts, group=data.draw(st.integers(1, 50)))
    if data.draw(st.booleans()):  # all positives in a part of their own
        order = np.argsort(-table["label"], kind="stable")
        table = {name: values[order] for name, values in table.items()}
        pattern = write(folder, table, (int(table["label"].sum()), rows)[: len(cuts)], group=7)
        pattern = [str(folder / f"part-{i}.parquet") for i in range(min(len(cuts), 2) + 1)]
    assert tails_from(ENGINE, pattern, **COLUMNS) == whole(table)


def test_row_groups_are_parts_once_they_are_large(tmp_path, monkeypatch):
    monkeypatch.setattr(count_module, "PART_ROWS", 500)
    monkeypatch.setattr(count_module, "CHUNK_ROWS", 90)
    table = scored()
    assert tails_from(ENGINE, write(tmp_path, table), **COLUMNS) == whole(table)


def test_estimates_are_those_of_scores_in_memory(tmp_path):
    table = scored()
    is_p = table["label"] == 1
    counted = count_from(ENGINE, write(tmp_path, table), **COLUMNS)
    expected = tb.estimate_alpha(table["score"][is_p], table["score"][~is_p], method="bbe")
    assert counted.estimates("bbe", 0.95)[None] == expected
    assert counted.labels.note == f"1 = positive ({is_p.sum()} rows), 0 = unlabeled (" + (
        f"{(~is_p).sum():,} rows)"
    )


def test_groups_are_counted_apart_in_the_same_passes(tmp_path):
    table = scored()
    counted = count_from(ENGINE, write(tmp_path, table), **COLUMNS, by="town")
    assert list(counted.tails) == ["Bern", "Lyon", "Ulm"]
    for town, tails in counted.tails.items():
        here = table["town"] == town
        assert tails == whole({name: values[here] for name, values in table.items()})
    assert "3 groups" in counted.notes[0]


def test_a_group_without_positives_is_left_out_and_named(tmp_path):
    table = scored()
    table["town"] = np.where(table["label"] == 1, "Bern", table["town"])
    counted = count_from(ENGINE, write(tmp_path, table), **COLUMNS, by="town")
    assert list(counted.tails) == ["Bern"]
    assert counted.notes == (
        "2 groups left out, without positives or without unlabeled rows: Lyon, Ulm",
    )
    table["town"] = np.where(table["label"] == 1, "Bern", "Ulm")
    with pytest.raises(InputError, match="TB003 no group of 'town' has both"):
        count_from(ENGINE, write(tmp_path, table), **COLUMNS, by="town")


def test_labels_of_words_blanks_and_known_negatives(tmp_path):
    table = scored()
    words = np.array(["", "yes ", "no"], object)[
        np.where(table["label"] == 1, 1, np.where(table["town"] == "Ulm", 2, 0))
    ]
    pattern = write(tmp_path, {"score": table["score"], "label": words})
    found = tails_from(ENGINE, pattern, **COLUMNS, positive="yes", negative="no")
    kept = {name: values[words != "no"] for name, values in table.items()}
    assert found == whole(kept)
    with pytest.raises(InputError, match=r"TB002 column .label. has 3 values"):
        tails_from(ENGINE, pattern, **COLUMNS)
    with pytest.raises(InputError, match="TB003 no row has the positive value 'maybe'"):
        tails_from(ENGINE, pattern, **COLUMNS, positive="maybe")


def test_scores_that_are_not_finite_are_refused_or_dropped_and_said(tmp_path):
    table = scored()
    table["score"][[3, 1000, 2900]] = np.nan, np.inf, -np.inf
    pattern = write(tmp_path, table)
    with pytest.raises(InputError, match="TB004 3 of 3,000 scores are missing, NaN or infinite"):
        tails_from(ENGINE, pattern, **COLUMNS)
    counted = count_from(ENGINE, pattern, **COLUMNS, drop_nan=True)
    finite = np.isfinite(table["score"])
    assert counted.tails[None] == whole({n: values[finite] for n, values in table.items()})
    assert counted.notes == ("3 of 3,000 rows were left out: no finite score",)


def test_a_spoiled_page_is_named_and_nothing_of_its_file_counts(tmp_path):
    table = scored()
    pattern = write(tmp_path, table)
    spoil(tmp_path / "part-3.parquet")
    with pytest.raises(InputError, match=r"TB102 \".*part-3.parquet\" cannot be read") as caught:
        tails_from(ENGINE, pattern, **COLUMNS)
    assert "skip_bad=True" in str(caught.value)
    (tmp_path / "part-5.parquet").write_bytes(b"PAR1 and then nothing")
    counted = count_from(ENGINE, pattern, **COLUMNS, skip_bad=True)
    kept = np.r_[0:1001, 2500:3000]
    assert counted.tails[None] == whole({n: values[kept] for n, values in table.items()})
    (note,) = counted.notes
    assert note.startswith("2 files skipped because they cannot be read: ")
    assert "part-3.parquet" in note
    assert "part-5.parquet" in note


def test_nothing_readable_and_no_rows_are_said(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="TB102 none of the 1 files can be read"):
        tails_from(ENGINE, tmp_path / "a.parquet", **COLUMNS, skip_bad=True)
    pattern = write(tmp_path, {name: values[:0] for name, values in scored().items()}, ())
    with pytest.raises(InputError, match="TB001 no file that can be read has rows"):
        tails_from(ENGINE, pattern, **COLUMNS)
    write(tmp_path, scored(), ())
    spoil(tmp_path / "part-0.parquet")
    with pytest.raises(InputError, match="TB001 no file that can be read has rows"):
        tails_from(ENGINE, pattern, **COLUMNS, skip_bad=True)


def test_files_that_change_between_the_passes_are_noticed(tmp_path):
    table = scored()
    pattern = write(tmp_path, table)

    class Changing(Local):
        def total(self, task, parts, shared):
            found = super().total(task, parts, shared)
            write(tmp_path, {n: v[:2990] for n, v in table.items()})
            return found

    with pytest.raises(InputError, match="TB102 the files changed while they were read"):
        tails_from(Changing(), pattern, **COLUMNS)


def test_an_unknown_engine_is_refused():
    with (
        pytest.raises(InputError, match="TB008 engine= must be one of local, dask"),
        open_engine("ray"),
    ):
        pass


@pytest.mark.parametrize("negative", [None, 2])
def test_labels_are_read_again_only_where_some_rows_are_neither(tmp_path, negative):
    table = scored()
    table["label"][::7] = 2 if negative else 0
    read = []

    class Watched(Local):
        def total(self, task, parts, shared):
            read.append(shared[1].columns.label)
            return super().total(task, parts, shared)

    found = count_from(
        Watched(), write(tmp_path, table), **COLUMNS, by="town", positive=1, negative=negative
    )
    assert read == ["label", "label" if negative else None]
    kept = table["label"] != 2
    for town, tails in found.tails.items():
        here = (table["town"] == town) & kept
        assert tails == whole({name: values[here] for name, values in table.items()})
