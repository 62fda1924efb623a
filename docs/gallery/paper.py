# %% [markdown]
# # Why does a flexible model forget the hidden positives, and what can be done about it?
#
# This is the idea of *Mixture Proportion Estimation and PU Learning: A Modern Approach* (Garg, Wu,
# Smola, Balakrishnan and Lipton) in ten cells: why a model of positives against unlabeled rows
# **memorizes**, what **BBE** sees in scores of rows that it did not train on, and what **CVIR**
# discards. The rows are real: scans of handwritten digits, those below five against the others, as
# in the paper.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import topbin as tb

rng = np.random.default_rng(0)
digits = load_digits()
order = rng.permutation(len(digits.target))
X = (digits.data[order] / 16).astype("float32")
X += rng.normal(0, 0.25, X.shape).astype("float32")  # smudged, so that the task is not too easy
small = digits.target[order] < 5
labeled = small & (rng.random(small.size) < 0.5)
held = rng.random(small.size) < 0.4  # not trained on
P, U = labeled & ~held, ~labeled & ~held
P_held, U_held = labeled & held, ~labeled & held
alpha = small[~labeled].mean()  # only we know
print(
    f"train {P.sum()} P, {U.sum()} U; hold out {P_held.sum()} and {U_held.sum()}, α = {alpha:.2f}"
)

# %% [markdown]
# ## Positives against unlabeled rows
#
# PvU treats all unlabeled rows as negative. After every epoch we ask how many of the *hidden*
# positives score above the threshold that is right for this model, among the rows that it trains
# on and among those that it never saw.


# %%
def trained(learner, epochs, **options):
    """The model after training, and the scores of all rows after each epoch."""
    learner = tb.learn.find_learner(learner)
    model = tb.learn.torch_backend(learner, X[P], net="uci-mlp", seed=0, device="cpu")
    loop = tb.learn.train(model, learner, X[P], X[U], epochs=epochs, **options)
    return learner.threshold(alpha), [model.scores(X) for _ in loop]


epochs = 60
threshold, pvu = trained("pvu", epochs)
hidden = {"rows it trains on": U & small, "rows it never saw": U_held & small}
recall = {name: [(s[rows] > threshold).mean() for s in pvu] for name, rows in hidden.items()}

# %% [markdown]
# ## Why it memorizes
#
# The loss says: hidden positives are negative. A flexible model obeys, row by row. On rows that it
# never saw it cannot, because they look like the labeled ones.

# %% tags=["thumbnail"]
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), color in zip(recall.items(), ("#cc3311", "#0072b2"), strict=True):
    axis.plot(range(1, epochs + 1), values, color=color, linewidth=2, label=name)
axis.set(
    xlabel="epochs",
    ylabel="hidden positives that are recognized",
    ylim=(0, 1.02),
    title="PvU forgets the positives that it trains on",
)
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False, loc="upper right")

# %% [markdown]
# ## What BBE sees
#
# For every cut, divide the share of U above it by the share of P above it. Where only positives
# are above the cut, the ratio is α; farther down, negatives come in and the ratio rises; at the
# very top few rows are left and it is noise. BBE takes the cut where ratio plus noise is smallest.
# It needs rows that the model never saw.

# %%
scores = pvu[-1]
tails = tb.Tails.from_scores(scores[P_held], scores[U_held])
seen = tb.Tails.from_scores(scores[P], scores[U])
found = tb.mpe.bbe(tails)
print(
    f"held-out rows: α = {found.alpha:.2f}; rows trained on: {tb.mpe.bbe(seen).alpha:.2f}; "
    f"truth {alpha:.2f}"
)

# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(seen.q_p, seen.ratio, color="#cc3311", label="rows it trains on")
axis.plot(tails.q_p, tails.ratio, color="#0072b2", label="rows it never saw")
best = np.flatnonzero(tails.cuts == found.cut)
axis.plot(tails.q_p[best], tails.ratio[best], "o", color="#222222", markersize=8, label="BBE's cut")
axis.axhline(alpha, color="#888888", linestyle="--", label="α, the truth")
axis.set(
    xlim=(0, 1),
    ylim=(0, 1.02),
    xlabel="share of P above the cut",
    ylabel="share of U ÷ share of P",
    title="What BBE sees",
)
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False, loc="upper right")

# %% [markdown]
# ## What CVIR discards
#
# Knowing α, one can leave out the top α of U before each epoch: most of them are hidden positives,
# which would teach the model the wrong thing. What is left is nearly all negative.

# %%
early = pvu[4][U]
kept = tb.learn.keep_lowest(early, found.alpha)
left_out = np.setdiff1d(np.arange(early.size), kept)
print(
    f"hidden positives in U: {small[U].mean():.0%}; among the discarded: "
    f"{small[U][left_out].mean():.0%}; among the kept: {small[U][kept].mean():.0%}"
)

# %% [markdown]
# ## Both in turn: (TED)ⁿ
#
# A better model gives a better α, and a better α a better model. So after some epochs of PvU, each
# epoch estimates α on held-out rows, discards, and trains.

# %%
warm = 10
cut, tedn = trained("tedn", epochs - warm, warm_start=warm, holdout=(X[P_held], X[U_held]))
ways = {"PvU": (pvu, threshold), "(TED)ⁿ": (tedn, cut)}
right = {
    name: [np.mean((s[U_held] > limit) == small[U_held]) for s in run]
    for name, (run, limit) in ways.items()
}

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
for (name, (run, _)), color in zip(ways.items(), ("#e69f00", "#009e73"), strict=True):
    ahead = [tb.mpe.bbe(tb.Tails.from_scores(s[P_held], s[U_held])).alpha for s in run]
    axes[0].plot(range(1, epochs + 1), ahead, color=color, linewidth=2, label=name)
    axes[1].plot(range(1, epochs + 1), right[name], color=color, linewidth=2, label=name)
axes[0].axhline(alpha, color="#888888", linestyle="--", label="truth")
axes[0].set(xlabel="epochs", ylabel="α by BBE", ylim=(0, 1.02), title="How many")
axes[1].set(xlabel="epochs", ylabel="held-out U classified right", title="Which ones")
for axis in axes:
    axis.spines[["top", "right"]].set_visible(False)
_ = axes[0].legend(frameon=False)

# %% [markdown]
# `tb.TEDnClassifier` does this for any scikit-learn model or torch net, cross-fitted. For α,
# topbin's default reads more than one cut: [one posterior](../explanation/overlap.md). All
# experiments of the paper, rerun: [results](../results.md).
#
# ## A sentence for the report

# %% tags=["sentence"]
last = {name: np.mean(values[-10:]) for name, values in right.items()}
forgot = {name: values[-1] for name, values in recall.items()}
print(
    f"Trained against unlabeled rows, the net recognized {forgot['rows it never saw']:.0%} of the "
    f"hidden positives among new rows but only {forgot['rows it trains on']:.0%} among those it "
    f"was trained on, so α was read from held-out rows ({found.alpha:.2f}; truth {alpha:.2f}); "
    f"discarding likely positives raised the accuracy on new rows from {last['PvU']:.0%} to "
    f"{last['(TED)ⁿ']:.0%}."
)
