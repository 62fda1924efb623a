"""Draws and answers as files keep them: what goes in comes out, and nothing else is believed."""

import numpy as np
import pytest
from coded import fails

from topbin.evaluate.audit import TopBin, draw_stratified, draw_weighted
from topbin.job.audits.answers import AuditFile, Draw, read_drawn, write_drawn

F = np.linspace(0, 0.2, 500)


@pytest.mark.parametrize(
    "sample", [draw_stratified(np.arange(99.0), 20, seed=5), draw_weighted(F, 40, seed=5)]
)
def test_a_sample_survives_its_file(tmp_path, sample):
    top = TopBin.at(np.arange(10.0), np.arange(8.0), share=0.7)
    kept = Draw.of(sample, row=tuple(range(sample.n)), data="x", n=sample.n, bin=top)
    drawn = AuditFile((kept, kept), "Is it fraud?")
    write_drawn(tmp_path, drawn)
    assert read_drawn(tmp_path) == drawn
    back = read_drawn(tmp_path).draws[0].sample
    assert np.array_equal(back.rows, sample.rows)
    assert np.array_equal(back.stratum, sample.stratum)
    assert (back.sizes, back.seed, back.kind) == (sample.sizes, sample.seed, sample.kind)
    if sample.expected:
        assert np.array_equal(back.weights(F), sample.weights(F))


def test_a_draw_of_0_2_is_read_and_lists_that_do_not_fit_are_not(tmp_path):
    old = '{"rows": [3, 1], "stratum": [0, 0], "sizes": [9], "seed": 0, "row": [5, 2], "data": "x"'
    (tmp_path / "audit.json").write_text('{"draws": [' + old + "}]}")
    assert read_drawn(tmp_path).draws[0].where == "anywhere"
    for wrong in (', "cuts": [0.5]}', ', "where": "below"}', ', "expected": [-1]}', ', "n": 0}'):
        (tmp_path / "audit.json").write_text('{"draws": [' + old + wrong + "]}")
        with fails("TB114", "does not say which rows were drawn"):
            read_drawn(tmp_path)
    for wrong in (
        '{"draws": {}, "question": 3}',
        '{"question": "Why?"}',
        '{"draws": [], "more": 1}',
        "[]",
    ):
        (tmp_path / "audit.json").write_text(wrong)
        with fails("TB114", "does not say which rows were drawn"):
            read_drawn(tmp_path)
