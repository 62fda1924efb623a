"""The torch backend against numpy on a linear model, and its promises about state and input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import expit

from topbin.core.errors import InputError
from topbin.learn import LEARNERS, Diverged, cvir, nnpu, train
from topbin.learn.risk import LOSSES

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import Dataset, TensorDataset  # noqa: E402

from topbin.learn.backends.torch import (  # noqa: E402  # noqa: E402
    TorchBackend,
    as_rows,
    deal,
    find_device,
    mean_losses,
    torch_backend,
)
from topbin.learn.nets import Optim, crop_and_flip, default_optim, mlp  # noqa: E402  # noqa: E402

RNG = np.random.default_rng(0)
X_P, X_U = RNG.normal(size=(12, 3)) + 0.5, RNG.normal(size=(15, 3))
THETA = np.array([0.7, -0.4, 0.2])
HELD = (
    RNG.normal(size=(40, 3)) + 9 * THETA,
    RNG.normal(size=(40, 3)) + np.outer([9, -9] * 20, THETA),
)
ALPHA = 0.4
# L⁻(P) is large and L⁻(U) small under this model, so the negative part is below zero.
MEMORISED = (X_P + 4, X_U - 4)

SLOPES = {
    "logistic": lambda margin: -expit(-margin),
    "sigmoid": lambda margin: -expit(margin) * expit(-margin),
}


class Linear(nn.Module):
    """One logit, no intercept, double precision."""

    def __init__(self, theta=THETA):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(theta, dtype=torch.float64))

    def forward(self, x):
        return x @ self.theta


def by_hand(theta, X_p, X_u, risk):
    """Value and descent direction of a risk for a linear model, in plain numpy."""
    loss, slope = LOSSES[risk.loss], SLOPES[risk.loss]
    z_p, z_u = X_p @ theta, X_u @ theta
    pos_p, neg_p, neg_u = loss(z_p).mean(), loss(-z_p).mean(), loss(-z_u).mean()
    grad_pos_p = X_p.T @ slope(z_p) / len(X_p)
    grad_neg_p = X_p.T @ -slope(-z_p) / len(X_p)
    grad_neg_u = X_u.T @ -slope(-z_u) / len(X_u)
    part = risk.u_neg * neg_u + risk.p_neg * neg_p
    grad_part = risk.u_neg * grad_neg_u + risk.p_neg * grad_neg_p
    if risk.clamp and part < -risk.beta:
        return risk.p_pos * pos_p - risk.beta, -risk.gamma * grad_part
    return risk.p_pos * pos_p + part, risk.p_pos * grad_pos_p + grad_part


VARIANTS = [*LEARNERS.values(), cvir(weights="half"), nnpu(beta=0.1, gamma=0.5)]


@pytest.mark.parametrize("rows", [(X_P, X_U), MEMORISED], ids=["plain", "memorised"])
@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
@pytest.mark.parametrize("learner", VARIANTS, ids=lambda each: each.name)
def test_loss_and_gradient_agree_with_numpy(learner, loss, rows):
    risk = replace(learner, loss=loss).at(ALPHA)
    net = Linear()
    terms = mean_losses(*(net(torch.tensor(X)) for X in rows), risk.loss)
    risk.descent(*terms).backward()
    value, gradient = by_hand(THETA, *rows, risk)
    assert float(risk.value(*terms).detach()) == pytest.approx(value, abs=1e-9)
    assert net.theta.grad.numpy() == pytest.approx(gradient, abs=1e-9)


def test_the_clamp_was_active_in_one_of_those_and_not_in_the_other():
    risk = LEARNERS["nnpu"].at(ALPHA)
    loss = LOSSES["sigmoid"]
    parts = [
        risk.negative_part(loss(-P @ THETA).mean(), loss(-U @ THETA).mean())
        for P, U in ((X_P, X_U), MEMORISED)
    ]
    assert parts[0] > 0
    assert parts[1] < -0.1


def hand_sgd(theta, gradient, state, optim):
    step = gradient + optim.weight_decay * theta
    state["velocity"] = optim.momentum * state.get("velocity", 0.0) + step
    return theta - optim.lr * state["velocity"]


def hand_adam(theta, gradient, state, optim):
    step = gradient + optim.weight_decay * theta
    state["t"] = state.get("t", 0) + 1
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * step
    state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * step**2
    m, v = state["m"] / (1 - 0.9 ** state["t"]), state["v"] / (1 - 0.999 ** state["t"])
    return theta - optim.lr * m / (np.sqrt(v) + 1e-8)


@pytest.mark.parametrize("rows", [(X_P, X_U), MEMORISED], ids=["plain", "memorised"])
@pytest.mark.parametrize("learner", VARIANTS, ids=lambda each: each.name)
def test_epochs_of_every_learner_equal_the_hand_computation(learner, rows):
    optim = default_optim(learner.loss, "uci-mlp")
    hand = {"sgd": hand_sgd, "adam": hand_adam}[optim.name]
    model = TorchBackend(Linear(), optim)
    known = ALPHA if learner.needs_alpha else None
    theta, state = THETA, {}
    X_p, X_u = rows
    for epoch in train(model, learner, X_p, X_u, alpha=known, holdout=HELD, epochs=3, least_kept=2):
        kept = np.argsort(X_u @ theta, kind="stable")[: epoch.n_kept]
        value, gradient = by_hand(theta, X_p, X_u[np.sort(kept)], learner.at(epoch.alpha))
        wrong = np.mean(X_p @ theta <= 0) + np.mean(X_u[kept] @ theta > 0)
        theta = hand(theta, gradient, state, optim)
        assert epoch.loss == pytest.approx(value, abs=1e-9)
        assert epoch.training_error == pytest.approx(wrong)
        assert model.net.theta.detach().numpy() == pytest.approx(theta, abs=1e-9)
        assert (epoch.n_kept < len(X_u)) == learner.discard


def test_two_outputs_are_a_logit_and_cross_entropy():
    two = nn.Linear(3, 2).double()
    model = TorchBackend(two, Optim())
    out = two(torch.tensor(X_P)).detach()
    assert model.scores(X_P) == pytest.approx((out[:, 1] - out[:, 0]).numpy())
    entropy = nn.functional.cross_entropy(out, torch.ones(len(out), dtype=torch.long))
    assert float(LOSSES["logistic"](model.scores(X_P)).mean()) == pytest.approx(float(entropy))


@given(n_p=st.integers(1, 700), n_u=st.integers(1, 700), batch=st.integers(1, 250))
def test_dealing_shows_every_row_and_only_repeats_the_shorter(n_p, n_u, batch):
    batches = deal(n_p, n_u, batch)
    assert len(batches) == -(-max(n_p, n_u) // batch)
    for side, n in ((0, n_p), (1, n_u)):
        counts = np.bincount(torch.cat([each[side] for each in batches]).numpy(), minlength=n)
        sizes = [each[side].numel() for each in batches]
        assert counts.min() >= 1
        assert counts.max() == counts.min()
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= min(n, max(1, batch // 10)) or n == max(n_p, n_u)
        if n >= len(batches) * max(1, batch // 10):
            assert counts.max() == 1


def noisy_net():
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))


def final_weights(seed, learner=LEARNERS["pvu"], epochs=3):
    torch.manual_seed(7)
    model = TorchBackend(noisy_net(), Optim(lr=0.01), batch=4, seed=seed)
    losses = [e.loss for e in train(model, learner, X_P, X_U, epochs=epochs)]
    return losses, model.net.state_dict()


def test_a_seed_gives_the_same_bits():
    losses, weights = final_weights(1)
    torch.rand(9)
    again_losses, again = final_weights(1)
    other_losses, _ = final_weights(2)
    assert losses == again_losses != other_losses
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_global_state_and_the_users_net_and_rows_are_left_alone():
    torch.manual_seed(5)
    net = noisy_net()
    weights = {name: value.clone() for name, value in net.state_dict().items()}
    P, U = X_P.copy(), X_U.copy()
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    model = TorchBackend(net, Optim(), batch=4)
    model.epoch(P, U, LEARNERS["pvu"].at(None))
    model.scores(P)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert all(torch.equal(weights[name], value) for name, value in net.state_dict().items())
    assert np.array_equal(P, X_P)
    assert np.array_equal(U, X_U)


def test_small_nets_get_one_thread_and_convolutions_keep_theirs():
    assert TorchBackend(Linear(), Optim()).threads == 1
    assert TorchBackend(nn.Conv2d(1, 1, 3), Optim()).threads == 0
    assert TorchBackend(nn.Linear(1000, 1001), Optim()).threads == 0
    assert TorchBackend(nn.Linear(1000, 1001), Optim(), threads=1).threads == 1


def test_scores_are_not_random_and_leave_batch_norm_alone():
    model = TorchBackend(noisy_net(), Optim())
    before = model.state()
    assert np.array_equal(model.scores(X_P), model.scores(X_P))
    assert all(torch.equal(before.net[k], v) for k, v in model.net.state_dict().items())


def test_a_loss_that_is_not_finite_leaves_the_last_good_state():
    model = TorchBackend(nn.Linear(3, 1), Optim(lr=1e30))
    states = [model.state()]
    epochs = train(model, LEARNERS["pvu"], X_P, X_U, epochs=9)
    with pytest.raises(Diverged, match="TB015 the loss is nan in epoch"):
        states.extend(model.state() for _ in epochs)
    good = states[-1]
    assert all(torch.equal(good.net[k], v) for k, v in model.net.state_dict().items())
    assert torch.equal(good.rng, model.rng)
    assert np.isfinite(model.scores(X_P)).all()


class Rows(Dataset):
    """The user's own Dataset; row `bad` cannot be read."""

    def __init__(self, X, bad=None, item=lambda row: row):
        self.X, self.bad, self.item = torch.tensor(X), bad, item

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        if row == self.bad:
            raise OSError("disk gone")
        return self.item(self.X[row])


def test_a_dataset_that_raises_is_named_and_nothing_is_lost():
    model = TorchBackend(Linear(), Optim(), batch=3)
    model.epoch(X_P, X_U, LEARNERS["pvu"].at(None))
    good = model.state()
    broken = Rows(X_U, bad=14)
    with pytest.raises(InputError, match="TB016 the Dataset X_u raised OSError for row 14 of 15"):
        model.epoch(X_P, broken, LEARNERS["pvu"].at(None))
    after = model.state()
    assert torch.equal(good.net["theta"], after.net["theta"])
    assert torch.equal(good.rng, after.rng)
    velocity = [s.optimizer["state"][0]["momentum_buffer"] for s in (good, after)]
    assert torch.equal(*velocity)


class Two(nn.Module):
    """Takes two inputs, by position or by name; may answer with an object that has logits."""

    def __init__(self, boxed=False):
        super().__init__()
        self.line, self.boxed = Linear(), boxed

    def forward(self, left, right):
        out = self.line(left + right)
        return type("Output", (), {"logits": out})() if self.boxed else out


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize(
    "pair",
    [
        lambda X: (X / 4, 0.75 * X),
        lambda X: TensorDataset(torch.tensor(X) / 4, 0.75 * torch.tensor(X)),
        lambda X: Rows(X, item=lambda row: [row / 4, 0.75 * row]),
        lambda X: Rows(X, item=lambda row: {"left": row / 4, "right": 0.75 * row}),
    ],
    ids=["tuple", "tensor dataset", "list items", "dict items"],
)
def test_tuples_and_datasets_train_like_one_tensor(pair, boxed):
    plain, other = TorchBackend(Linear(), Optim()), TorchBackend(Two(boxed), Optim())
    want = list(train(plain, LEARNERS["cvir"], X_P, X_U, alpha=0.4, epochs=2))
    got = list(train(other, LEARNERS["cvir"], pair(X_P), pair(X_U), alpha=0.4, epochs=2))
    assert [e.loss for e in got] == pytest.approx([e.loss for e in want])
    assert other.net.line.theta.tolist() == pytest.approx(plain.net.theta.tolist())
    assert other.scores(pair(X_U)) == pytest.approx(plain.scores(X_U))


def test_byte_images_are_scaled_and_crops_happen_in_training_only():
    seen = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        def forward(self, x):
            seen.append(x)
            return self.w * x.mean((1, 2, 3))

    images = RNG.integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)
    model = TorchBackend(Spy(), Optim(), augment=crop_and_flip)
    model.scores(images)
    assert torch.equal(seen[-1], torch.tensor(images) / 255)
    model.epoch(images, images, LEARNERS["pvu"].at(None))
    assert seen[-1].shape == (12, 3, 8, 8)
    assert not any(torch.equal(seen[-1][0], torch.tensor(each) / 255) for each in images)


def test_token_ids_stay_whole_numbers():
    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(10, 1)

        def forward(self, ids):
            return self.bag(ids)

    ids = torch.tensor([[1, 2], [3, 4]])
    assert TorchBackend(Bag(), Optim()).scores(ids).shape == (2,)


def test_mixed_precision_runs_and_stays_near():
    plain, mixed = (TorchBackend(nn.Linear(3, 1), Optim()) for _ in range(2))
    mixed.mixed = True  # as on cuda
    mixed.restore(plain.state())
    a, b = (model.epoch(X_P, X_U, LEARNERS["pvu"].at(None)).loss for model in (plain, mixed))
    assert a != b
    assert a == pytest.approx(b, rel=0.02)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan, 0.0], [1, 2, 3]]), "TB004 X has 1 of 2 rows with NaN or infinite"),
        (csr_matrix(X_P), "TB006 X is sparse"),
        (np.array([["a", "b", "c"]]), "TB006 X must be numbers; got dtype <U1"),
        (np.float64(3.0), "TB005 X is a single value"),
        (X_P[:, :2], r"TB005 a row of X has shape \(2,\); the net has seen \(3,\)"),
    ],
)
def test_rows_that_cannot_be_used(X, message):
    model = TorchBackend(Linear(), Optim())
    model.scores(X_P)
    with pytest.raises(InputError, match=message):
        model.scores(X)


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (nn.Linear(3, 10), r"TB013 the net gives \(12, 10\) for 12 rows. It must give one logit"),
        (nn.Sequential(nn.Flatten(0)), r"TB013 the net gives \(36,\) for 12 rows"),
        (nn.GRU(3, 2), "TB013 the net gives tuple for 12 rows"),
        (nn.Linear(4, 1), "TB013 the net does not take these rows.*Check the shape of a row"),
        (Two(), "TB013 the net does not take these rows"),
    ],
)
def test_nets_that_cannot_be_used(net, message):
    optim = Optim()
    if not list(net.parameters()):
        net.append(nn.Linear(36, 36))
    with pytest.raises(InputError, match=message):
        TorchBackend(net, optim).scores(X_P)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TorchBackend(Linear(), Optim("lion")), "TB007 no optimizer is called 'lion'"),
        (lambda: TorchBackend(Linear(), Optim(lr=0.0)), "TB008 lr must be a finite number > 0"),
        (lambda: TorchBackend(Linear(), Optim(), batch=0), "TB008 batch must be"),
        (lambda: find_device("abacus"), "TB008 device 'abacus' cannot be used"),
        (lambda: torch_backend(LEARNERS["pvu"], Rows(X_P)), "TB013 rows of a Dataset or a tuple"),
        (lambda: torch_backend(LEARNERS["pvu"], X_P, net="vgg"), "TB007 no net is called 'vgg'"),
    ],
)
def test_settings_that_cannot_be_used(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("learner", "shape", "net", "wanted"),
    [
        ("tedn", (5,), "auto", Optim("sgd", lr=0.1)),
        ("tedn", (2, 2), "auto", Optim("sgd", lr=0.05)),
        ("tedn", (1, 4, 4), "resnet18", Optim("sgd", lr=0.1)),
        ("nnpu", (5,), "auto", Optim("adam", lr=1e-4)),
        ("tedn", (3,), Linear(), Optim("adam", lr=1e-4)),
    ],
)
def test_defaults_are_the_papers(learner, shape, net, wanted):
    X = np.zeros((3, *shape))
    model = torch_backend(LEARNERS[learner], X, net=net)
    assert (model.optim, model.batch, str(model.device)) == (wanted, 200, "cpu")
    assert model.scores(X).shape == (3,)


def test_adamw_is_another_choice():
    model = TorchBackend(Linear(), Optim("adamw", lr=0.01))
    assert model.epoch(X_P, X_U, LEARNERS["pvu"].at(None)).loss > 0
    assert isinstance(model.optimizer, torch.optim.AdamW)


def test_single_precision_and_doubles_are_both_taken():
    assert as_rows(X_P.astype(np.float32), "X").dtype == torch.float32
    assert as_rows(X_P, "X").dtype == torch.float64
    assert as_rows([[1, 2]], "X").dtype == torch.float32


def clusters(rng, n_p, n_u, alpha, gap):
    truth = rng.random(n_u) < alpha
    X_u = rng.normal(size=(n_u, 4)) + np.where(truth, gap, -gap)[:, None] / 2
    return rng.normal(size=(n_p, 4)) + gap / 2, X_u, truth


@pytest.mark.parametrize("warm_start", [0, 15])
@pytest.mark.parametrize("alpha", [0.2, 0.7])
def test_tedn_finds_how_many_and_which(alpha, warm_start):
    rng = np.random.default_rng(11)
    X_p, X_u, truth = clusters(rng, 600, 800, alpha, gap=2.5)
    held_p, held_u, _ = clusters(rng, 500, 500, alpha, gap=2.5)
    learner = LEARNERS["tedn"]
    model = TorchBackend(mlp((4,), (16,)), Optim(lr=0.1))
    history = list(
        train(model, learner, X_p, X_u, holdout=(held_p, held_u), epochs=20, warm_start=warm_start)
    )
    found = history[-1].estimate.alpha
    assert found == pytest.approx(alpha, abs=0.06)
    assert np.mean((model.scores(X_u) > learner.threshold(found)) == truth) > 0.97


def test_tedn_on_noise_says_that_all_of_u_may_be_positive():
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X_p, X_u, held_p, held_u = (rng.normal(size=(n, 4)) for n in (500, 500, 4000, 4000))
        model = TorchBackend(mlp((4,), (16,)), Optim(lr=0.1), seed=seed)
        run = train(
            model, LEARNERS["tedn"], X_p, X_u, holdout=(held_p, held_u), epochs=5, warm_start=5
        )
        found += [epoch.estimate.alpha for epoch in run]
    assert np.mean(found) > 0.95
