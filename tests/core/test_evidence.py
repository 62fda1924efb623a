"""Evidence: what it holds, what it refuses, and that its tails are counted once."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from coded import fails

from topbin.core import Evidence, Tails

P, U = np.array([3.0, 2.0]), np.array([3.0, 1.0, 0.0])


def test_scores_become_evidence_whose_tails_are_those_of_the_scores():
    evidence = Evidence.of(P, U, share_p=0.5)
    assert not evidence.has_tails
    assert evidence.tails == Tails.from_scores(P, U)
    assert evidence.tails is evidence.tails
    assert evidence.has_tails
    assert evidence.scores[0] is P
    assert evidence.share_p == 0.5


def test_evidence_and_tails_are_taken_as_they_are():
    evidence, tails = Evidence.of(P, U), Tails.from_scores(P, U)
    assert Evidence.of(evidence) is evidence
    assert Evidence.of(tails).tails is tails
    assert Evidence.of(tails).has_tails
    assert not Evidence.of(tails).has_scores
    assert Evidence.of(evidence, share_p=0.5).share_p == 0.5
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


def test_it_is_a_value():
    with pytest.raises(FrozenInstanceError):
        Evidence.of(P, U).share_p = 1
