# %% [markdown]
# # Who is ill without a diagnosis: more women than men?
#
# Records say who was diagnosed. They do not say who is healthy, because some were never tested. So
# the number of diagnoses says two things at once: how common a disease is, and how often it is
# recognized. To compare groups, the two must be taken apart.
#
# These patients are *made*. The disease is as common among women as among men, but it is
# recognized far less often in women. Older patients have it more often.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import topbin as tb

rng = np.random.default_rng(1)
n = 5000
sex = rng.choice(["female", "male"], n)
age = rng.choice(["40 to 54", "55 to 69", "70 and over"], n, p=[0.4, 0.35, 0.25])
risk = pd.Series(age).map({"40 to 54": 0.12, "55 to 69": 0.22, "70 and over": 0.35}).to_numpy()
ill = rng.random(n) < risk  # only we know
patients = pd.DataFrame(
    {
        "sex": sex,
        "age": age,
        "glucose": rng.normal(np.where(ill, 8.2, 5.4), 1.3).round(1),
        "hba1c": rng.normal(np.where(ill, 7.1, 5.5), 0.7).round(1),
        "bmi": rng.normal(np.where(ill, 30, 26.5), 4).round(1),
        "pressure": rng.normal(np.where(ill, 138, 128), 14).round(),
    }
)
recognized = np.where(sex == "male", 0.6, 0.35)
patients["diagnosed"] = ill & (rng.random(n) < recognized)
patients.head(4)

# %% [markdown]
# ## What the records alone suggest
#
# Counting diagnoses makes it look like a disease of men.

# %%
patients.groupby("sex")["diagnosed"].mean().rename("diagnosed, share of all").to_frame().round(3)

# %% [markdown]
# ## How many are ill without a diagnosis?
#
# `by` gives α, the share of ill patients among those *without* a diagnosis, for each group. One
# fit is enough for any number of columns.
#
# Sex is compared, but the models do not read it (`drop`): if they did, they would learn that men
# are diagnosed more readily, the diagnosed would not be like the other ill patients, and α would
# be too low.

# %%
result = tb.fit(
    patients, label="diagnosed", drop="sex", read=tb.Read(by=["sex", "age"]), budget="fast"
)
print(result.by("sex").summary())

# %% [markdown]
# The picture has the truth beside each interval. Groups share the models and how far the classes
# overlap, so *whether* two groups differ is known better than how high each of them is.

# %% tags=["thumbnail"]
without = ~patients["diagnosed"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axis, column in zip(axes, ["sex", "age"], strict=True):
    display = tb.ByDisplay(result.by(column)).plot(axis)
    truth = pd.Series(ill)[without].groupby(patients[column]).mean()
    axis.plot(
        truth[display.frame()["group"]], range(len(truth)), "D", color="#cc3311", label="truth"
    )
    axis.set_xlabel("share that is ill without a diagnosis")
    axis.get_legend().remove()
axes[0].set_title("Undiagnosed, by sex")
axes[1].set_title("Undiagnosed, by age")
handles = {
    label: line
    for axis in axes
    for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
}
_ = figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)

# %% [markdown]
# ## How often is the disease recognized?
#
# With α, the ill are counted: the diagnosed, and α of the others. What share of them is diagnosed?

# %%
groups = pd.DataFrame(
    {
        "group": one.group,
        "prevalence": (one.n_p + one.alpha * one.n_u) / (one.n_p + one.n_u),
        "recognized": one.n_p / (one.n_p + one.alpha * one.n_u),
        "recognized, low": one.n_p / (one.n_p + one.interval[1] * one.n_u),
        "recognized, high": one.n_p / (one.n_p + one.interval[0] * one.n_u),
    }
    for one in result.by("sex").groups
).set_index("group")
groups["truth"] = pd.Series(recognized).groupby(patients["sex"]).first()
groups.round(2)

# %% [markdown]
# - **Positives must look alike in all groups.** If the disease looks different in women, no fit
#   can say so, and the summary above names what it can test. [How groups are
#   compared](../how-to/by-group.md).
# - **Only severe cases are diagnosed?** Then see [Γ](biased.md), and examine a random sample:
#   [audit](../how-to/audit.md).
# - **From the command line:** `topbin fit patients.csv --label diagnosed --by sex,age`.
#
# ## A sentence for the report

# %% tags=["sentence"]
women = next(one for one in result.by("sex").groups if one.group == "female")
low, high = women.ratio_interval
print(
    f"Among patients without a diagnosis, {women.alpha:.1%} of the women are ill (95 % interval "
    f"{women.interval[0]:.1%} to {women.interval[1]:.1%}), {women.ratio:.1f} times as many as of "
    f"the men ({low:.1f} to {high:.1f} times). The disease is recognized in "
    f"{groups['recognized']['female']:.0%} of the ill women and in "
    f"{groups['recognized']['male']:.0%} of the ill men, if it looks alike in both."
)
