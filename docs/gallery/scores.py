# %% [markdown]
# # My XGBoost model already gives scores: how many customers will it miss?
#
# You have a model that ranks customers by how likely they are to leave. It was trained on those
# who *said* that they would leave, against all others. But among the others some leave without a
# word. How many? The scores are enough to tell, if they come from a model that did not train on
# the same rows.
#
# The customers are *made* by scikit-learn, so that the answer can be checked.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_predict
from xgboost import XGBClassifier

import topbin as tb

X, leaves = make_classification(
    6000, 20, n_informative=10, weights=[0.75], class_sep=1.4, flip_y=0, random_state=2
)
leaves = leaves == 1  # only we know
said = leaves & (np.random.default_rng(0).random(len(X)) < 0.4)
model = XGBClassifier(n_estimators=200, max_depth=4, learning_rate=0.1, n_jobs=1)
print(f"{len(X):,} customers, {said.sum()} said that they leave")

# %% [markdown]
# ## The mistake that everybody makes once
#
# Score the rows that the model was trained on. It has learned by heart who said so, and nobody else
# scores as high.

# %%
seen = model.fit(X, said).predict_proba(X)[:, 1]
wrong = tb.estimate_alpha(seen[said], seen[~said])
print(f"scores of rows that the model has seen: α = {wrong.alpha:.3f}")
print(f"truth: {leaves[~said].mean():.3f}")

# %% [markdown]
# ## Scores of rows that the model has not seen
#
# One call of scikit-learn scores every row by a model that was trained on the others.

# %%
scores = cross_val_predict(model, X, said, cv=5, method="predict_proba")[:, 1]
estimate = tb.estimate_alpha(scores[said], scores[~said])
estimate

# %% [markdown]
# The two pictures show why. On the left, those who leave without a word are kept apart from those
# who said so, because the model has learned that they did not. On the right, they have the same
# scores.

# %% tags=["thumbnail"]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained", sharey=True)
kinds = {"said so": said, "leave without a word": leaves & ~said, "stay": ~leaves}
colors = ["#0072b2", "#cc3311", "#999999"]
named = {"rows that the model has seen": seen, "rows that it has not seen": scores}
for axis, (name, values) in zip(axes, named.items(), strict=True):
    logit = np.log(values / (1 - values))
    edges = np.linspace(logit.min(), logit.max(), 45)
    for (kind, rows), color in zip(kinds.items(), colors, strict=True):
        axis.hist(
            logit[rows], edges, density=True, histtype="step", linewidth=2, color=color, label=kind
        )
    axis.set(title=f"Scores of {name}", xlabel="score (log odds)", yticks=[])
    axis.spines[["top", "right", "left"]].set_visible(False)
_ = axes[1].legend(frameon=False)

# %% [markdown]
# ## Can the interval be trusted?
#
# Only the order of the scores matters, so margins, probabilities and ranks give the same answer.
# The picture of the top bin shows what the estimate reads: the ratio of the two shares above each
# cut.

# %%
display = tb.TopBinDisplay.from_scores(scores[said], scores[~said]).plot()
ranks = np.argsort(np.argsort(scores))
assert tb.estimate_alpha(ranks[said], ranks[~said]).alpha == estimate.alpha

# %% [markdown]
# ## Let topbin score
#
# A classifier around your model does the same, and repairs the probabilities: they are those of
# leaving, not those of saying so.

# %%
plan = tb.learn.Plan(outer=3, inner=3, repeats=1)
wrapped = tb.PvUClassifier(model, plan=plan).fit(X, said)
chance = wrapped.predict_proba(X[~said])[:, 1]
print(f"mean probability {chance.mean():.3f}, by the model alone {scores[~said].mean():.3f}")

# %% [markdown]
# - [Scores from files of any size](../how-to/scores.md): `topbin alpha scored.parquet --score
#   score`.
# - [XGBoost inside topbin](../how-to/scikit-learn.md#your-own-model-inside) is stored without
#   pickle, and gives reasons for each row.
#
# ## A sentence for the report

# %% tags=["sentence"]
low, high = estimate.interval
rows = int((~said).sum())
print(
    f"{said.sum():,} customers said that they leave. Of the other {rows:,}, about "
    f"{estimate.alpha:.1%} leave as well (95 % interval {low:.1%} to {high:.1%}: {low * rows:.0f} "
    f"to {high * rows:.0f} customers), if those who said so are like those who did not; at "
    f"most {estimate.upper_bound:.1%}, whatever the overlap of the classes."
)

# %% [markdown]
# And the truth:

# %%
print(f"{leaves[~said].mean():.1%}, that is {leaves[~said].sum()} customers")
