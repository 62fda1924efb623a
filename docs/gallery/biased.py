# %% [markdown]
# # Only clear cases get a label: what can we still say?
#
# The estimate assumes that known positives are like the others. If clear cases are labeled more
# readily, it is too low, and no score can show it. But you can say *how selective* labeling would
# have to be to overturn your conclusion. **Γ** is that number: Γ = 1 means that positives are
# labeled at random, Γ = 2 that the odds of being labeled may be twice as high for some as for
# others.
#
# The rows are real: tumors (scikit-learn has the table), of which some malignant ones are known.
# We hide the others, and make the labels selective on purpose: large tumors have three times the
# odds of being known.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import topbin as tb

tumors = load_breast_cancer(as_frame=True).frame
malignant = (tumors.pop("target") == 0).to_numpy()  # only we know
size = tumors["mean radius"]
selective = 3.0  # Γ, which nobody knows outside a made example
odds = np.where(size > size[malignant].median(), selective / 2, 0.5)
known = malignant & (np.random.default_rng(0).random(len(tumors)) < odds / (1 + odds))
tumors["known"] = known
print(f"{len(tumors)} tumors, {known.sum()} known to be malignant")

# %% [markdown]
# ## Who has a label?
#
# Small malignant tumors are in the data, but seldom among the known ones.

# %%
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
edges = np.linspace(size.min(), size.max(), 25)
parts = [size[~malignant], size[malignant & ~known], size[known]]
axis.hist(
    parts,
    edges,
    stacked=True,
    color=["#d0d0d0", "#cc3311", "#0072b2"],
    label=["benign", "malignant, hidden", "malignant, known"],
)
axis.set(xlabel="mean radius", ylabel="tumors", title="Large tumors are known more often")
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False)

# %% [markdown]
# ## The estimate, if labels were random

# %%
result = tb.fit(tumors, label="known", budget="fast")
print(f"truth {malignant[~known].mean():.3f}")
result.estimate

# %% [markdown]
# ## How far can it move?
#
# Name the conclusion that matters to you: *at most this share of the unlabeled tumors is
# malignant*. The tipping point is the Γ up to which it holds.

# %%
limit = 0.4
found = tb.sensitivity(result, gamma=(1.5, 2, 3), at_most=limit)
print(found)

# %% tags=["thumbnail"]
display = tb.GammaDisplay.from_estimator(result, gamma=(1.25, 1.5, 2, 2.5, 3, 4), at_most=limit)
axis = display.ax_
axis.plot(selective, malignant[~known].mean(), "*", color="#cc3311", markersize=13, label="truth")
axis.legend(frameon=False, loc="lower right")
_ = axis.set_title("How selective may labeling be?")

# %% [markdown]
# The star is the truth, at the Γ with which we made the labels. In your data only somebody who
# knows how labels arise can say how large Γ can be: ask them whether the odds of a label can
# differ by more than the tipping point between two positives.
#
# ## What if that is not enough?
#
# A random sample decides, because it does not care who was labeled. A pathologist examines some
# tumors (here the truth does it), and topbin also says which Γ would explain a contradiction.

# %%
result.save("tumors1")
audit = tb.audit(result)
drawn = audit.draw(80)
audit.record({row: bool(malignant[row - 1]) for row in drawn["row"]})
judged = audit.judge()
print(judged.sentence)

# %% [markdown]
# - **From the command line:** `topbin fit tumors.csv --label known --gamma 1.5,2,3 --at-most 0.4`.
# - **You know what labeling depends on**, such as the site or the size?
#   [Name it](../how-to/labeled-by.md), and the estimate is corrected.
# - [Where the formulas come
#   from](../explanation/intervals.md#if-positives-are-not-labeled-at-random).
#
# ## A sentence for the report

# %% tags=["sentence"]
(conclusion,) = found.conclusions
low, high = judged.together.interval if judged.together else judged.interval
print(
    f"{conclusion.sentence} We cannot exclude that labels are more selective than that, so "
    f"{len(drawn)} random tumors were examined: {low:.0%} to {high:.0%} of the unlabeled ones are "
    "malignant (95 % interval)."
)
