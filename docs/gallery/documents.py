# %% [markdown]
# # When may we stop reading documents?
#
# When the documents that nobody has read hold so few relevant ones that more reading is out of
# proportion. Three numbers say so: **richness** (the share of relevant documents), **recall** (the
# share of them that was found) and **elusion** (the share of relevant ones among the documents
# that are not read).
#
# The documents of this page are real, and come with Python: manual pages of numpy and scipy. Those
# of `scipy.stats` are relevant, and a reader has found some of them. That we know the others lets
# us check the answer. Names that would give it away are removed.

# %%
import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import interpolate, linalg, ndimage, optimize, signal, sparse, special, stats

import topbin as tb

rooms = [stats, signal, linalg, optimize, special, sparse, ndimage, interpolate]
rooms += [np, np.linalg, np.fft]
pages = {
    f"{room.__name__}.{name}": inspect.getdoc(getattr(room, name))
    for room in rooms
    for name in room.__all__
}
documents = pd.DataFrame({"document": pages.keys(), "text": pages.values()}).dropna()
giveaway = r"\b(scipy|stats|np|numpy)\b\S*"
documents["text"] = documents["text"].str.replace(giveaway, "", regex=True).str[:1500]
documents = documents[documents["text"].str.len() > 200].drop_duplicates("text")
documents = documents.sample(frac=1, random_state=0, ignore_index=True)
relevant = documents["document"].str.startswith("scipy.stats")  # only we know
documents["found"] = relevant & (relevant.cumsum() <= 120)
unread = ~documents["found"]
print(f"{len(documents):,} documents, {documents['found'].sum()} found relevant so far")

# %% [markdown]
# ## How rich is the pile?
#
# α is the richness of what is unread. We ask for a list of documents to read next, about half as
# many again as can be relevant.

# %%
length = 300  # of the list
result = tb.fit(documents, label="found", id="document", budget="fast", candidates=length)
print(f"truth {relevant[unread].mean():.3f}")
result.estimate

# %% [markdown]
# The best candidates, with the words that speak for them:

# %%
result.candidates(4, why=True).drop(columns=["rank", "text"])

# %% [markdown]
# ## Have we found enough?
#
# Reading on until nothing turns up is not a stopping rule: a ranking can hide a whole kind of
# document. Read a random sample from *both* sides of the list instead. The rule is set before
# anybody reads: stop if, with 95 % confidence, the list contains at least this share of what is
# relevant.

# %%
wanted = 0.8
result.save("review1")
audit = tb.audit(result)
drawn = audit.draw(400, where="recall")
audit.record({row: bool(relevant[row - 1]) for row in drawn["row"]})  # a person's work
judged = audit.judge(recall=wanted)
print(judged.recall.sentence)

# %% [markdown]
# The limit needs only random rows and right answers. Scores, and who found the first ones, do not
# matter. Here is what is really above and below the list:

# %% tags=["thumbnail"]
ranked = documents[unread].assign(relevant=relevant[unread], probability=result.probabilities)
ranked = ranked.sort_values("probability", ascending=False)
recall = ranked["relevant"].cumsum() / ranked["relevant"].sum()
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.plot(np.arange(1, len(ranked) + 1), recall, color="#0072b2", label="recall (truth)")
axis.plot([1, len(ranked)], [0, 1], color="#888888", linewidth=1, label="reading at random")
axis.axvline(length, color="#222222", linewidth=1, linestyle=":", label="the list ends here")
axis.plot(
    length, judged.recall.least, "^", color="#cc3311", markersize=9, label="at least, by audit"
)
axis.set(
    ylim=(0, 1.02),
    xlim=(0, len(ranked)),
    xlabel="documents read, best first",
    ylabel="share of the relevant ones that is found",
    title="Where reading can stop",
)
axis.spines[["top", "right"]].set_visible(False)
_ = axis.legend(frameon=False, loc="lower right")

# %% [markdown]
# Elusion is what the sampled documents below the list say.

# %%
listed = set(result.listed(length)["row"])
below = [row for row in drawn["row"] if row not in listed]
missed = sum(bool(relevant[row - 1]) for row in below)
most = stats.binomtest(missed, len(below)).proportion_ci(0.9, method="exact").high
print(f"{missed} of {len(below)} sampled documents below the list are relevant: at most {most:.1%}")

# %% [markdown]
# - **Families of documents** (an email and its replies) are not independent: name the thread with
#   [`group`](../how-to/groups.md).
# - **A second reader** disagrees on some rows? Answer ? where you are unsure; the limits allow for
#   both.
# - **In the browser:** `topbin review review1 --question "Is this document relevant?"`
#   ([more](../how-to/review.md)). From the command line:
#   `topbin audit review1 --recall`.
#
# ## A sentence for the report

# %% tags=["sentence"]
richness = judged.together.interval if judged.together else result.estimate.interval
print(
    f"Of {unread.sum():,} documents not yet read, {richness[0]:.0%} to {richness[1]:.0%} are "
    f"relevant (richness). The {length} that the model ranks highest contain at least "
    f"{judged.recall.least:.0%} of them (recall). Below, at most {most:.1%} are relevant "
    "(elusion). Each holds with 95 % confidence, so reading can stop after the list."
)

# %% [markdown]
# And the truth:

# %%
print(
    f"richness {relevant[unread].mean():.0%}, recall {recall.iloc[length - 1]:.0%}, "
    f"elusion {ranked['relevant'][length:].mean():.1%}"
)
