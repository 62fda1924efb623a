"""Evidence: what it holds, what it refuses, and that its tails are counted once."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from coded import fails

from topbin.core import Evidence, Tails
from topbin.core.evidence import VARIANCE_FACTOR

P, U = np.array([3.0, 2.0]), np.array([3.0, 1.0, 0.0])


def test_scores_become_evidence_whose_tails_are_those_of_the_scores():
    evidence = Evidence.of(P, U, share_p=0.5)
    assert evidence.tails == Tails.from_scores(P, U)
    assert evidence.tails is evidence.tails
    assert evidence.scores[0] is P
    assert evidence.share_p == 0.5


def test_evidence_and_tails_are_taken_as_they_are():
    evidence, tails = Evidence.of(P, U), Tails.from_scores(P, U)
    assert Evidence.of(evidence) is evidence
    assert Evidence.of(tails).tails is tails
    assert not Evidence.of(tails).has_scores
    assert Evidence.of(evidence, share_p=0.5).share_p == 0.5
    assert Evidence.of(evidence, crossfitted=True).crossfitted
    assert Evidence.of(Evidence.of(evidence, crossfitted=True)).crossfitted
    for both in (evidence, tails):
        with fails("TB007", "already covers both samples"):
            Evidence.of(both, U)


def test_counts_alone_have_no_scores_and_features_alone_have_no_tails():
    with fails("TB007", "needs the scores of both samples"):
        _ = Evidence(counted=Tails.from_scores(P, U)).scores
    with fails("TB007", "needs the scores of both samples"):
        _ = Evidence(X_p=np.eye(2), X_u=np.eye(2)).tails


def test_bad_scores_are_refused():
    with fails("TB001", "scores_u is missing"):
        Evidence.of(P)
    with fails("TB004", "scores_p"):
        Evidence.of([np.nan], U)
    with fails("TB001", "scores_u is empty"):
        Evidence.of(P, [])


# --- how many independent rows it is worth ---

MANY = np.arange(130.0), np.arange(260.0) / 2


def test_independent_rows_are_worth_as_many_as_they_are():
    evidence = Evidence.of(*MANY)
    assert evidence.grouped == evidence.effective == (130.0, 260.0)
    assert evidence.independent is evidence.tails


def test_cross_fitted_rows_are_worth_fewer_with_the_same_shares():
    evidence = Evidence.of(*MANY, crossfitted=True)
    assert evidence.grouped == (130.0, 260.0)
    assert evidence.effective == (130 / VARIANCE_FACTOR, 260 / VARIANCE_FACTOR)
    fewer = evidence.independent
    assert (fewer.n_p, fewer.n_u) == (100, 200)
    np.testing.assert_allclose(fewer.q_p, evidence.tails.q_p)
    np.testing.assert_allclose(fewer.q_u, evidence.tails.q_u)


def test_groups_and_cross_fitting_add_up():
    pairs_p, pairs_u = np.arange(130) // 2, 1000 + np.arange(260) // 2
    scores = np.repeat(MANY[0][:65], 2), np.repeat(MANY[1][:130], 2)  # the rows of a pair are equal
    evidence = Evidence(*scores, groups_p=pairs_p, groups_u=pairs_u, crossfitted=True)
    assert evidence.grouped == pytest.approx((65, 130))
    assert evidence.effective == pytest.approx((65 / VARIANCE_FACTOR, 130 / VARIANCE_FACTOR))
    assert (evidence.independent.n_p, evidence.independent.n_u) == (50, 100)


def test_there_is_always_one_row_left():
    one = Evidence.of([1.0], [0.0], crossfitted=True).independent
    assert (one.n_p, one.n_u) == (1, 1)


def test_it_is_a_value():
    with pytest.raises(FrozenInstanceError):
        Evidence.of(P, U).share_p = 1
