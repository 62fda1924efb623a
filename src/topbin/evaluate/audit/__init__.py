"""The audit: label some random unlabeled rows by hand, and learn whether α̂ is wrong.

No score can show that labeled positives differ from the others; a random sample can, because it
makes no assumption about them. `draw_weighted` chooses the rows, or `draw` and `draw_stratified`,
which take all rows equally often. `judge` reads the answers, `plan` and `power` say how many rows a
question needs. `judge_top` reads answers to random rows of the top bin, which are worth more where
labels are not biased. Labels from a list of top candidates do not belong here: they are not
random, and mixing them in biases the audit.
"""

from topbin.core.labels import BLANK as BLANK
from topbin.core.labels import NEGATIVE as NEGATIVE
from topbin.core.labels import POSITIVE as POSITIVE
from topbin.core.labels import UNSURE as UNSURE
from topbin.core.labels import read_answers
from topbin.evaluate.audit.draw import AuditSample, draw, draw_stratified, draw_weighted
from topbin.evaluate.audit.judging import (
    AuditResult,
    Together,
    compare_labels,
    judge,
    judge_top,
    update,
)
from topbin.evaluate.audit.judging import verdict_words as verdict_words
from topbin.evaluate.audit.limits import RecallBound, TopBin, recall_bound
from topbin.evaluate.audit.planning import (
    AuditPlan,
    WidthPlan,
    plan,
    plan_either_way,
    plan_width,
    power,
)

__all__ = [
    "AuditPlan", "AuditResult", "AuditSample", "RecallBound", "Together", "TopBin", "WidthPlan",
    "compare_labels", "draw", "draw_stratified", "draw_weighted", "judge", "judge_top", "plan",
    "plan_either_way", "plan_width", "power", "read_answers", "recall_bound", "update",
]  # fmt: skip
