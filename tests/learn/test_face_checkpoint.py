"""A face's torch fit that is stopped, by kill −9 too, ends with the bits of one that was not."""

import os
import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import interrupted_fit  # noqa: E402
import warm  # noqa: E402

from topbin.core.errors import FileError  # noqa: E402
from topbin.data.images import Images  # noqa: E402
from topbin.learn.backends.checkpoint import path_in  # noqa: E402
from topbin.learn.backends.torch import TorchBackend  # noqa: E402
from topbin.learn.nets import Optim  # noqa: E402

X, S = interrupted_fit.table()


def assert_same_bits(one, two):
    assert one.alpha_ == two.alpha_
    assert one.history_ == two.history_
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    a, b = (clf.model_.backend.net.state_dict() for clf in (one, two))
    assert all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("how", "epochs"),
    [(signal.SIGKILL, 4), (signal.SIGINT, 9 + 2)],
    ids=["killed", "Ctrl-C in the refit"],
)
def test_a_stopped_fit_goes_on_to_the_same_bits(tmp_path, how, epochs):
    folder = tmp_path / "kept"
    with warm.script(interrupted_fit.__file__, folder) as (process, lines):
        for _ in range(epochs):
            assert lines.readline()
        os.kill(process.pid, how)
        process.join(60)
    assert process.exitcode in (-how, 130)
    seen = []
    resumed = interrupted_fit.face(str(folder), on_event=seen.append).fit(X, S)
    whole = interrupted_fit.face().fit(X, S)
    assert_same_bits(resumed, whole)
    assert len(seen) <= len(whole.history_) - epochs


@pytest.mark.parametrize("kind", ["cvir", "pvu", "nnpu", "upu"])
def test_every_face_with_a_net_resumes(tmp_path, kind):
    def stop(event):
        if event.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_fit.face(str(tmp_path), on_event=stop, kind=kind).fit(X, S)
    seen = []
    resumed = interrupted_fit.face(str(tmp_path), on_event=seen.append, kind=kind).fit(X, S)
    assert [event.done for event in seen] == [4, 5, 6]
    assert_same_bits(resumed, interrupted_fit.face(kind=kind).fit(X, S))


def test_a_finished_fit_has_nothing_left_to_do_and_may_be_given_more_epochs(tmp_path):
    first = interrupted_fit.face(str(tmp_path), kind="pvu").fit(X, S)
    seen = []
    again = interrupted_fit.face(str(tmp_path), on_event=seen.append, kind="pvu").fit(X, S)
    assert seen == []
    assert_same_bits(first, again)
    longer = interrupted_fit.face(str(tmp_path), kind="pvu", epochs=8).fit(X, S)
    assert_same_bits(longer, interrupted_fit.face(kind="pvu", epochs=8).fit(X, S))


def test_a_fit_that_had_settled_stays_so(tmp_path):
    first = interrupted_fit.face(str(tmp_path), kind="pvu", epochs=500).fit(X, S)
    assert first.history_[-1].settled
    assert_same_bits(first, interrupted_fit.face(str(tmp_path), kind="pvu", epochs=500).fit(X, S))


def test_other_rows_other_seeds_and_other_alphas_are_other_runs(tmp_path):
    def fit(X, **params):
        interrupted_fit.face(str(tmp_path), kind="cvir").set_params(**params).fit(X, S)
        return len(list(tmp_path.iterdir()))

    changed = X.copy()
    changed[0, 0] += 1e-9
    counts = [fit(X), fit(X), fit(changed), fit(X, random_state=1), fit(X, alpha=0.25)]
    assert counts == [1, 1, 2, 3, 4]


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, row):
        return torch.zeros(2)


def test_every_kind_of_rows_has_a_name(tmp_path):
    model = TorchBackend(torch.nn.BatchNorm1d(2), Optim())
    images = (Images.of(np.full((3, 8, 8), value, np.uint8)) for value in (0, 1))
    kinds = (np.zeros((3, 2)), torch.zeros(3, 2), (torch.zeros(3, 2), torch.ones(3)), Rows(),
             *images)  # fmt: skip
    assert len({path_in(tmp_path, model, [X], "") for X in kinds}) == len(kinds)


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("mine")
    with pytest.raises(FileError, match="TB105 cannot write"):
        interrupted_fit.face(str(taken)).fit(X, S)
    assert taken.read_text() == "mine"
