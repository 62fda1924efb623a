# %% [markdown]
# # How much fraud did we miss, and which cases come first?
#
# Investigators confirm some frauds. All other payments count as legitimate because nobody looked
# at them. How many of these are fraud, what are they worth, and which ones should be opened next?
#
# Real payments are secret, so this table is *made*: about one payment in seven is fraud, and
# investigators have confirmed fewer than half of the frauds. Because we made the table, every
# answer can be checked.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import topbin as tb

rng = np.random.default_rng(0)
n = 6000
fraud = rng.random(n) < 0.15  # only we know
payments = pd.DataFrame(
    {
        "payment": np.arange(n),
        "amount": np.exp(rng.normal(4.5 + fraud, 1)).round(2),
        "hour": np.where(fraud, rng.normal(2, 4, n), rng.normal(14, 4, n)).round() % 24,
        "days_open": rng.exponential(np.where(fraud, 60, 700)).round(),
        "devices": 1 + rng.poisson(np.where(fraud, 2.0, 0.4)),
        "country": np.where(rng.random(n) < np.where(fraud, 0.5, 0.1), "abroad", "home"),
    }
)
payments["confirmed"] = fraud & (rng.random(n) < 0.4)
payments.head(4)

# %% [markdown]
# Leave out what exists only because of an investigation: case numbers, notes, the date of a block.
# topbin names such columns (`leak`), also those that give the label away only in part.
#
# ## How many?

# %%
result = tb.fit(payments, label="confirmed", id="payment", budget="fast")
result.estimate

# %%
open_cases = ~payments["confirmed"]
hidden = fraud & open_cases
low, high = result.estimate.interval
print(f"estimate {result.estimate.alpha:.3f}, interval {low:.3f} to {high:.3f}")
print(f"truth    {hidden.sum() / open_cases.sum():.3f}")

# %% [markdown]
# ## How much money?
#
# The same fit gives every payment a probability, by models that never saw it. The sum of amount ×
# probability is what was missed.

# %%
likely = payments[open_cases].assign(probability=result.probabilities, is_fraud=fraud[open_cases])
likely["expected"] = likely["amount"] * likely["probability"]
missed = likely["expected"].sum()
missed_truly = likely["amount"][likely["is_fraud"]].sum()
print(f"missed {missed:,.0f}; truth {missed_truly:,.0f}")

# %% [markdown]
# ## Which cases first?
#
# Each of the best candidates comes with its reasons.

# %%
result.candidates(4, why=True).drop(columns=["rank", "hour", "days_open", "devices", "country"])

# %% [markdown]
# A team that can open only some hundred cases has two good orders: by probability, which finds the
# most frauds, and by expected amount, which finds the most money. The picture shows what each of
# them would really have brought, because here the truth is known.

# %% tags=["thumbnail"]
capacity = 400  # cases that the team can open
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
orders = {
    "by amount × probability": likely.sort_values("expected", ascending=False),
    "by probability": likely.sort_values("probability", ascending=False),
    "at random": likely.sample(frac=1, random_state=0),
}
for (name, cases), color in zip(orders.items(), ("#0072b2", "#e69f00", "#888888"), strict=True):
    money = (cases["amount"] * cases["is_fraud"]).cumsum()
    axis.plot(np.arange(1, len(cases) + 1), money / missed_truly, color=color, label=name)
axis.axvline(capacity, color="#222222", linewidth=1, linestyle=":", label="what the team can open")
axis.set(
    xlim=(0, 2000),
    ylim=(0, 1.02),
    xlabel="cases opened",
    ylabel="share of the missed money that is found",
    title="Missed money found, by the order in which cases are opened",
)
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False, loc="lower right")

# %% [markdown]
# ## Can an auditor object?
#
# Yes: rules pick what is investigated, so confirmed frauds may not be like the others, and no
# score can show that. A random sample can. Investigators judge some payments, here with the truth
# for their answers; `topbin audit` and `topbin review` do the same from the command line.

# %%
result.save("fraud1")
audit = tb.audit(result)
size = 100
drawn = audit.draw(size)
audit.record({row: bool(fraud[row - 1]) for row in drawn["row"]})
found = audit.judge()
print(found.sentence)

# %% [markdown]
# The draw has more payments that look like fraud than there are, so that few answers say much;
# their answers count less. So the share of yes in the sample is not the share of frauds.
#
# What you find among the *candidates* trains the next model, but it never estimates α, because
# those payments are not random.
#
# ## A sentence for the report

# %% tags=["sentence"]
low, high = found.together.interval
count = int(open_cases.sum())
print(
    f"Of {count:,} payments that were not confirmed as fraud, {low:.1%} to {high:.1%} are fraud "
    f"(95 % interval; scores of all payments and {size} audited ones): {low * count:.0f} to "
    f"{high * count:.0f} payments, with an expected loss of {missed:,.0f} in total."
)

# %% [markdown]
# And the truth, which nobody has outside a made table:

# %%
best = orders["by amount × probability"][:capacity]
share = (best["amount"] * best["is_fraud"]).sum() / missed_truly
print(
    f"{hidden.sum()} frauds, worth {missed_truly:,.0f}. The {capacity} cases with the highest "
    f"expected amount hold {share:.0%} of that."
)
