"""Checks of a table before any model sees it: columns that say nothing or too much, rows that
belong together.

A column that alone separates labeled from unlabeled rows usually leaks the label. The measure is
the AUC of positives against unlabeled rows (`topbin.metrics.pu_auc`), whose ceiling is 1 − α/2: if
no column leaks, an AUC of .99 means that at most 2 % of the unlabeled are positive.

Take the rows nearest to a known positive. If rows are independent, the share of unlabeled rows
among them changes slowly with the distance. If labels are given to whole patients with several
similar visits, the nearest rows are visits of the same patient and labeled too, and the next ones
are not: the share jumps. Such rows tell the models each other's labels, and α̂ is too low. This
compares rows, so it also works if the column that names the patient was left out.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from topbin.core.binomial import exact_upper, share_below
from topbin.core.checks import Floats, check_fraction
from topbin.core.errors import InputError
from topbin.core.formatting import counted
from topbin.core.hashing import Twins, find_twins
from topbin.core.labels import Mask, read_labels
from topbin.data.batch import Part
from topbin.data.columns import Cells, Column, as_columns, mixed_units, numeric_marks, readings
from topbin.data.formats.written import OTHER_MARK, NumberCell, as_float
from topbin.data.paths import is_image_name
from topbin.data.schema import shortened

# A leak of a part of the labels: its least share of the known positives, the risk of a mistake, and
# how many times fewer hidden positives than known ones there would be.
COMMON, LEAK_RISK, FEWER = 0.1, 0.001, 3
LEAK_AUC = 0.98
FEW_VALUES = 50
FEW_ROWS = 20
NEARLY_ALL = 0.95  # of the values are different
WORDS_OF_A_TEXT, DIFFERENT = 4, 0.5
LONG, LETTERS, DIGITS = 20, 0.9, 0.15  # a long string; the share of letters in one without words
LOOKED_AT = 1000  # texts of a column
NONE, SHOWN = "none", 3  # cells without a number, and how many of them a sentence shows
TEXTUAL = ("free-text", "sequence")
# By these columns, rows are not compared.
NOT_COMPARED = ("constant", "identifier", "long-strings", "unreadable")
ID_WORDS = "id|ids|uuid|guid|key"
ID_NAME = re.compile(rf"(^|[^a-z])({ID_WORDS}|index|rowid|row_number)($|[^a-z])")
# Groups of near-copies: rows that are drawn, of so many known positives or more.
QUERIES, SEED = 200, 0
SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # of groups that are tried
KNOTS = 1_000  # quantiles by which a column is turned into ranks
FEWEST = 20  # known positives
# A jump of the share of unlabeled rows: by so much, to so many times as much, and so many standard
# errors. None of the 60 tables of independent rows in tests/data/test_near_copies.py has one.
JUMP, TIMES, SURE, WHOLE, NEARLY = 0.2, 4.0, 4.0, 0.7, 0.1
GROUP_NAME = re.compile(
    rf"(^|.*[^a-z])({ID_WORDS}|code|no|nr)$|"
    r"(.*[^a-z])?(patient|subject|person|customer|client|user|member|household|account|device|owner)"
    r"s?([^a-z]*(id|key|code|no|nr|number|name))?$"
)
FEWEST_VALUES, LARGEST_MEAN = 10, 100


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about a table: a code, the column it is about, a figure, a sentence.

    >>> check_table({"town": ["Bern"] * 4, "age": [3, 1, 3, 1]}, [1, 1, 0, 0])[0].code
    'constant'
    """

    code: str
    column: str | None
    figure: float | None
    sentence: str

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


def check_table(
    table: Any, s: Any, *, positive: Any = None, negative: Any = None, leak: float = LEAK_AUC
) -> tuple[Finding, ...]:
    """Everything worth knowing about the columns of a table with labels s, column by column.

    >>> table = {"town": ["Bern"] * 8, "seen": [9, 8, 9, 8, 1, 2, 1, 2], "age": [3, 1] * 4}
    >>> for finding in check_table(table, [1, 1, 1, 1, 0, 0, 0, 0]):
    ...     print(finding)
    constant: "town" is the same in every row.
    leak: "seen" alone separates positives from unlabeled rows (AUC 1.000). If it does not leak the
    label, at most 0.0 % of the unlabeled are positive. If it does, leave it out: --drop seen
    (drop=["seen"]).
    """
    check_fraction(leak, "leak")
    labels = read_labels(s, positive=positive, negative=negative)
    is_p, is_u = labels.is_positive, labels.is_unlabeled
    columns = as_columns(table)
    if columns.table.rows != is_p.size:
        raise InputError("TB005", f"{columns.table.rows:,} rows and {is_p.size:,} labels.")
    names = list(columns.table.kinds)
    columns = columns.as_numbers(numeric_marks(columns[name] for name in names))
    read = [columns[name] for name in names]
    findings = find_in_columns(read, is_p, is_u, leak)
    ignored = {finding.column for finding in findings if finding.code in NOT_COMPARED}
    compared = [column.numbers for column in read if column.name not in ignored]
    if not compared:
        return findings
    X = np.column_stack(compared)
    return (*findings, *overlap(find_twins(X[is_p], X[is_u])))


def find_in_columns(
    columns: Iterable[Column],
    is_p: Mask,
    is_u: Mask,
    leak: float = LEAK_AUC,
    *,
    in_groups: bool = False,
) -> tuple[Finding, ...]:
    """What to know about each column: at most one finding per column."""
    findings = (
        find_useless(column)
        or leaking(column, is_p, is_u, leak, in_groups=in_groups)
        or numbers_as_text(column)
        for column in columns
    )
    return tuple(filter(None, findings))


def find_useless(column: Column) -> Finding | None:
    """Why no model should read this column as it is, if there is a reason; text, as words only."""
    if column.kind == "vector":
        return find_constant(column)
    if column.kind != "other":
        return find_constant(column) or find_identifier(column)
    sentence = f'"{column.name}" holds lists, bytes, times or mixed values, which no model reads.'
    return Finding("unreadable", column.name, 1, sentence)


def find_constant(column: Column) -> Finding | None:
    """One value in every row, or none in any.

    >>> find_constant(as_columns({"x": [7, 7]})["x"]).code
    'constant'
    """
    missing = column.missing
    if missing.all():
        return Finding("constant", column.name, 0, f'"{column.name}" is empty in every row.')
    if missing.any() or column.values.min() < column.values.max():
        return None
    return Finding("constant", column.name, 1, f'"{column.name}" is the same in every row.')


def find_identifier(column: Column) -> Finding | None:
    """Values that name a row rather than describe it: hardly any value comes twice.

    For short strings that is enough; long ones that are not mostly digits may describe their rows,
    and so may amounts in cents that all differ: whole numbers must also have no gap, be in order,
    or be called an id.

    >>> find_identifier(as_columns({"claim": np.arange(1000, 1100)})["claim"]).figure
    1.0
    """
    seen = column.values[~column.missing]
    if seen.size < FEW_ROWS or not (column.kind == "string" or column.is_whole):
        return None
    if column.kind == "string":
        share = len(column.texts) / seen.size
        names_rows = share >= NEARLY_ALL
        known = free_text(column) or (numbers_as_text(column) if names_rows else None)
        if known is not None:
            return known
        if names_rows and _is_long(column) and _share_of(column, str.isdigit) < DIGITS:
            sentence = (
                f'"{column.name}" holds long strings, and {100 * share:.0f} % are different. '
                f'text=["{column.name}"] (--text {quote(column.name)}) reads their letters'
                f"{_if_images(column)}."
            )
            return Finding("long-strings", column.name, share, sentence)
    else:
        share = np.unique(seen).size / seen.size
        has_no_gap = seen.min() + (seen.size - 1) == seen.max()
        in_order = (seen[1:] > seen[:-1]).all() or (seen[1:] < seen[:-1]).all()
        is_called_id = ID_NAME.search(column.name.lower()) or column.name.endswith(("Id", "ID"))
        names_rows = share == 1 and bool(has_no_gap or in_order or is_called_id)
    if not names_rows:
        return None
    sentence = f'"{column.name}" looks like an identifier: {100 * share:.0f} % are different'
    return Finding("identifier", column.name, share, f"{sentence}{_if_images(column)}.")


def _if_images(column: Column) -> str:
    """What to say about a column if most of its values end as the names of images do."""
    if column.kind != "string" or _mean_of(column, is_image_name) <= 0.5:
        return ""
    return f'; if these are images, say image="{column.name}" (--image {quote(column.name)})'


def free_text(column: Column) -> Finding | None:
    """Strings to be read, not compared: sentences, or sequences of letters such as proteins.

    Sentences have four words or more on average, and at least half of them are different.
    Sequences are long, nearly all different, and hardly anything but letters.

    >>> notes = [f"the client wrote letter {k}" for k in range(40)]
    >>> free_text(as_columns({"note": notes})["note"]).code
    'free-text'
    """
    rows = np.count_nonzero(~column.missing)
    if column.kind != "string" or rows < FEW_ROWS:
        return None
    share = len(column.texts) / rows
    if share >= DIFFERENT and _mean_of(column, lambda text: len(text.split())) >= WORDS_OF_A_TEXT:
        code, looks_like = "free-text", "free text"
    elif share >= NEARLY_ALL and _is_long(column) and _share_of(column, str.isalpha) >= LETTERS:
        code, looks_like = "sequence", "sequences of letters"
    else:
        return None
    sentence = f'"{column.name}" looks like {looks_like}: {100 * share:.0f} % are different.'
    return Finding(code, column.name, share, sentence)


def _mean_of(column: Column, measure: Callable[[str], float]) -> float:
    return float(np.mean([measure(text) for text in column.texts[:LOOKED_AT]]))


def _share_of(column: Column, kind: Callable[[str], bool]) -> float:
    """The share of characters of a kind, as the mean over texts."""
    return _mean_of(column, lambda text: sum(map(kind, text)) / max(1, len(text)))


def _is_long(column: Column) -> bool:
    return _mean_of(column, len) >= LONG


def numbers_as_text(column: Column) -> Finding | None:
    """Numbers that are read as categories because they are of different units.

    >>> numbers_as_text(as_columns({"pay": ["$5", "$7.5", "€ 6", "€ 8"]})["pay"]).code
    'numbers-as-text'
    """
    units = mixed_units(column)
    if not units:
        return None
    named = " and ".join(f'"{unit}"' if unit else "no unit" for unit in units[:3])
    sentence = (
        f'"{column.name}" holds numbers of {len(units):,} units ({named}), which cannot be '
        "compared. Convert them to one unit, and fit again."
    )
    return Finding("numbers-as-text", column.name, len(units), sentence)


def odd_cells(column: Column, mark: str, *, in_doubt: bool = False) -> Finding:
    """How a column of text was read as numbers: what was in its cells, and what it became.

    >>> pay = as_columns({"pay": ["$26,571", "?", "<980", "?", "1"]})["pay"]
    >>> print(odd_cells(pay, "."))
    odd-cells: "pay" is read as numbers: 1 cell such as "$26,571" (26571), 2 cells such as "?"
    (missing), 1 cell such as "<980" (just below 980).
    """
    kinds: dict[str, list[tuple[int, str, str]]] = {}
    cells = Cells.of(column, mark)
    for text, rows, cell in zip(cells.texts, cells.rows.tolist(), cells.numbers, strict=True):
        kind, becomes = _reading(text.strip(), cell)
        if kind:
            kinds.setdefault(kind, []).append((rows, text.strip(), becomes))
    phrases, odd = [], 0
    for kind, seen in kinds.items():
        seen.sort(reverse=True)
        texts = ", ".join(f'"{text}"' for _, text, _ in seen[: SHOWN if kind == NONE else 1])
        rows = sum(rows for rows, *_ in seen)
        phrases.append(f"{counted(rows, 'cell')} such as {texts} ({seen[0][2]})")
        odd += rows
    doubt = _other_reading(column, cells, mark) if in_doubt else ""
    sentence = f'"{column.name}" is read as numbers: {", ".join(phrases)}{doubt}.'
    return Finding("odd-cells", column.name, odd, sentence)


def _other_reading(column: Column, cells: Cells, mark: str) -> str:
    """What to say if the other mark fits as well, and would give other numbers."""
    other = OTHER_MARK[mark]
    if (instead := readings(column).get(other)) is None:
        return ""
    for text, now, then in zip(cells.texts, cells.numbers, instead.numbers, strict=True):
        is_clear = mark == "." and as_float(text) is not None
        if now and then and now.value != then.value and not is_clear:
            instead_of = f'if "{text.strip()}" is {then.value:.15g}'
            return f'; {instead_of}, say --decimal {other} (decimal="{other}")'
    return ""


def _reading(text: str, cell: NumberCell | None) -> tuple[str, str]:
    """The kind of a cell, and what it is read as; nothing for plain numbers and empty cells."""
    if cell is None:
        return (NONE, "missing") if text else ("", "")
    if cell.is_limit:
        below = "above" if text[0] in ">≥" or text.endswith("+") else "below"
        return below, f"just {below} {text.strip('<>≤≥=+ ')}"
    return ("decorated", f"{cell.value:.15g}") if as_float(text) is None else ("", "")


def leaking(
    column: Column, is_p: Mask, is_u: Mask, leak: float = LEAK_AUC, *, in_groups: bool = False
) -> Finding | None:
    """A column that alone separates the labeled rows, or many of them, from the others.

    Of rows in groups, many can be the same few cases, so that a value of theirs says little.
    """
    auc = separation(column, is_p, is_u)
    if auc >= leak:
        seen, figure = f"alone separates positives from unlabeled rows (AUC {auc:.3f})", auc
        most = 2 * (1 - auc)
    elif not in_groups and (found := _of_the_labeled(column, is_p, is_u)) is not None:
        seen, figure, most = found
    else:
        return None
    sentence = (
        f'"{column.name}" {seen}. If it does not leak the label, at most {100 * most:.1f} % of the '
        f"unlabeled are positive. If it does, leave it out: --drop {quote(column.name)} "
        f'(drop=["{column.name}"]).'
    )
    return Finding("leak", column.name, figure, sentence)


def _of_the_labeled(column: Column, is_p: Mask, is_u: Mask) -> tuple[str, float, float] | None:
    """A value of many known positives that no unlabeled row has, and so hardly any hidden positive.

    It comes with its share of the known positives, and the largest share of the unlabeled rows that
    can be positive if hidden positives have it as often: fewer than a third of the known ones.

    >>> column = as_columns({"paid": ["2021", None] * 50 + [None] * 900})["paid"]
    >>> _of_the_labeled(column, np.arange(1000) < 100, np.arange(1000) >= 100)[:2]
    ('is filled in for 50 % of the known positives and no unlabeled row', 0.5)
    """
    n_p, n_u = int(is_p.sum()), int(is_u.sum())
    ways = [((~column.missing).astype(np.intp), ["is empty", "is filled in"])]
    if column.kind == "string":
        ways.append((column.codes, [f'is "{shortened(text)}"' for text in column.texts]))
    elif column.kind in ("number", "boolean") and (few := _few_values(column.numbers)) is not None:
        ways.append((few[1], [f"is {value:g}" for value in few[0] if value == value]))
    for codes, said in ways:
        p, u = (np.bincount(codes[side], minlength=len(said) + 1) for side in (is_p, is_u))
        shares = np.where(u == 0, p, 0)[: len(said)] / n_p
        best = int(np.argmax(shares)) if said else 0
        if not said or shares[best] < COMMON:
            continue
        most = float(exact_upper(0, n_u, LEAK_RISK / len(said)) / shares[best])
        if FEWER * most * n_u < n_p:
            share = float(shares[best])
            of = f"for {100 * share:.0f} % of the known positives and no unlabeled row"
            return f"{said[best]} {of}", share, most
    return None


def separation(column: Column, is_p: Mask, is_u: Mask) -> float:
    """The best AUC of positives against unlabeled rows that reads this column alone.

    Numbers count in both directions, with missing values below or above all others. Strings,
    numbers with few values, and the fact that a value is missing count as categories too.

    >>> column = as_columns({"x": [5.0, np.nan, np.nan, 1.0]})["x"]
    >>> separation(column, np.array([0, 1, 1, 0], bool), np.array([1, 0, 0, 1], bool))
    1.0
    """
    if column.kind == "vector":
        return 0.5  # no number of it is read alone
    if column.kind in ("string", "other"):
        ways = (column.codes, column.missing.astype(np.intp))
        return max(0.5, *(_category_auc(codes, is_p, is_u) for codes in ways))
    values = column.numbers
    aucs = [0.5]
    for end in (-np.inf, np.inf) if column.missing.any() else (0.0,):
        filled = np.where(column.missing, end, values)
        auc = share_below(filled[is_p], np.sort(filled[is_u]), np.ones(is_u.sum())).mean()
        aucs += [auc, 1 - auc]
    if (few := _few_values(values)) is not None:
        aucs.append(_category_auc(few[1], is_p, is_u))
    return float(max(aucs))


def _few_values(values: Floats) -> tuple[Floats, NDArray[np.intp]] | None:
    """The different values and the position of each row's; None if they are many."""
    # A few rows show that most columns have too many, and need not be sorted.
    sample = values[:: max(1, values.size // (4 * FEW_VALUES))]
    if np.unique(sample).size > FEW_VALUES + 1:
        return None
    distinct, codes = np.unique(values, return_inverse=True)
    return (distinct, codes) if distinct.size <= FEW_VALUES + 1 else None


def _category_auc(codes: NDArray[np.intp], is_p: Mask, is_u: Mask) -> float:
    """Rank categories by how many positives they hold per unlabeled row.

    Each positive is ranked by the others of its category, so that rare categories, which are rich
    in positives by luck alone, prove nothing.
    """
    size = int(codes.max()) + 1
    x, y = np.bincount(codes[is_p], minlength=size), np.bincount(codes[is_u], minlength=size)
    others, rows_u = np.maximum(x - 1, 0), np.maximum(y, 0.5)
    rates, rates_without = x / rows_u, others / rows_u
    order = np.argsort(rates, kind="stable")
    beaten = share_below(rates_without, rates[order], y[order].astype(np.float64))
    # Against its own category a positive ties, whatever leaving it out did to the rate.
    share = y / y.sum()
    own = np.where(rates_without < rates, 0.0, 0.5)
    return float(x @ (beaten + (0.5 - own) * share) / x.sum())


def find_shared(files: int, known: str) -> tuple[Finding, ...]:
    """A finding if files of known positives were left out of the unlabeled rows.

    >>> print(*find_shared(1, '"yes"'))
    shared-files: 1 file is also among the known positives in "yes" and was left out of the
    unlabeled rows.
    """
    if not files:
        return ()
    is_also, was = ("is also", "was") if files == 1 else ("are also", "were")
    shared = f"{counted(files, 'file')} {is_also} among the known positives in {known}"
    words = f"{shared} and {was} left out of the unlabeled rows."
    return (Finding("shared-files", None, files, words),)


def find_in_files(files: Iterable[Part]) -> tuple[Finding, ...]:
    """What folders of texts have beside texts, how many are empty, and other encodings."""
    parts = list(files)
    others, empty = sum(each.others for each in parts), sum(each.empty for each in parts)
    notes = filter(None, (each.encoding_note for each in parts))
    findings = [Finding("encoding", None, None, note) for note in notes]
    if others:
        was = "was skipped because it does" if others == 1 else "were skipped because they do"
        words = f"{counted(others, 'file')} in folders of texts {was} not end in .txt."
        findings.append(Finding("other-files", None, others, words))
    if empty:
        are = "is empty; it" if empty == 1 else "are empty; each"
        words = f"{counted(empty, 'text file')} {are} counts as a row."
        findings.append(Finding("empty-texts", None, empty, words))
    return tuple(findings)


def repeated_ids(name: str, ids: Any) -> tuple[Finding, ...]:
    """Names of rows that name several.

    >>> import pandas as pd
    >>> repeated_ids("visit", pd.Series(["a", "b"]))
    ()
    >>> repeated_ids("town", pd.Series(["Ulm"] * 3))[0].figure
    3.0
    """
    repeated = int(ids.dropna().duplicated(keep=False).sum())
    if not repeated:
        return ()
    sentence = (
        f'"{name}" does not name single rows: of {counted(ids.size)}, {repeated:,} share their '
        "value with another one. Models do not read it. If rows of one value belong together, say "
        "so: "
        f'--group {quote(name)} (group="{name}").'
    )
    return (Finding("repeated-ids", name, float(repeated), sentence),)


def overlap(twins: Twins) -> tuple[Finding, ...]:
    """One finding if positives have exact copies among the unlabeled, else none."""
    if twins.rows == 0:
        return ()
    has = "has" if twins.rows == 1 else "have"
    sentence = f"{twins.rows:,} of {twins.n_p:,} positives {has} an exact copy among the unlabeled"
    if twins.usual >= 0.005:
        sentence += f"; so do {100 * twins.usual:.0f} % of the unlabeled rows themselves"
    return (Finding("overlap", None, twins.rows, f"{sentence}."),)


@dataclass(frozen=True, slots=True)
class Jump:
    """The share of unlabeled rows among the nearest rows of a positive, and among the next."""

    near: float
    next: float


def find_jump(X: Any, is_p: Mask, is_u: Mask, groups: Any = None) -> Jump | None:
    """Where labels look like those of groups of near-copies; None where they do not.

    With `groups`, rows of the same group are known to belong together and do not count as near.

    >>> rng = np.random.default_rng(0)
    >>> X, is_p = rng.normal(size=(300, 4)), np.arange(300) < 100
    >>> find_jump(X, is_p, ~is_p) is None
    True
    >>> visits = np.repeat(X, 4, axis=0) + 0.01 * rng.normal(size=(1200, 4))
    >>> find_jump(visits, np.repeat(is_p, 4), np.repeat(~is_p, 4)).near
    0.0
    """
    n_p = int(is_p.sum())
    if issparse(X) or n_p < FEWEST or is_u.sum() < FEWEST:
        return None
    sizes = [size for size in SIZES if 2 * size <= min(n_p, is_u.sum())]
    rows = np.flatnonzero(is_p | is_u)
    drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(is_p[rows]))[:QUERIES]
    own = None if groups is None else groups[rows]
    unlabeled = is_u[rows][_nearest(_ranks(X[rows]), drawn, 2 * sizes[-1] - 1, own)]
    jumps = []
    for size in sizes:
        near, following = unlabeled[:, : size - 1], unlabeled[:, size - 1 : 2 * size - 1]
        jump = following.mean(axis=1) - near.mean(axis=1)
        noise = max(jump.std(), 1e-9) / np.sqrt(jump.size)
        is_sharp = following.mean() >= TIMES * near.mean() and jump.mean() >= SURE * noise
        # In dense clusters whose rows are labeled one by one, few such sets are nearly all labeled.
        is_whole = (near.mean(axis=1) <= NEARLY).mean() >= WHOLE
        if jump.mean() >= JUMP and is_sharp and is_whole:
            jumps.append(Jump(float(near.mean()), float(following.mean())))
    return max(jumps, key=lambda jump: jump.next - jump.near, default=None)


def _nearest(R: Any, drawn: Any, count: int, groups: Any) -> Any:
    """For each drawn row the numbers of the nearest other rows, of other groups, nearest first."""
    from sklearn.neighbors import NearestNeighbors

    group = np.arange(len(R)) if groups is None else groups
    most = min(len(R), count + np.unique(group, return_counts=True)[1].max())
    search = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(R)
    near = search.kneighbors(R[drawn], return_distance=False)
    is_own = group[near] == group[drawn][:, None]
    return np.take_along_axis(near, np.argsort(is_own, axis=1, kind="stable")[:, :count], axis=1)


def _ranks(X: Any) -> Any:
    """Each column as ranks of equal spread, so that no column outweighs the others."""
    ranks = np.zeros(X.shape, np.float32)
    for j, column in enumerate(np.asarray(X, np.float64).T):
        known = np.isfinite(column)
        values = column[known]
        if not values.size or values.min() == values.max():
            continue
        at = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))
        rank = np.interp(values, at, share_below(at, np.sort(values[:: 1 + values.size // 10_000])))
        ranks[known, j] = (rank - rank.mean()) / max(rank.std(), 1e-9)
    return ranks


def find_groups(columns: Iterable[Column], *, by_name: bool = True) -> tuple[Finding, ...]:
    """Columns whose name and values say that they name what rows belong to.

    Without `by_name` the name does not count, and values must be words.

    >>> ids = np.repeat(np.arange(30.0), 4)
    >>> [finding.column for finding in find_groups([Column("patient_id", "number", ids)])]
    ['patient_id']
    >>> find_groups([Column("amount", "number", ids)])
    ()
    """
    return tuple(filter(None, (_group_finding(column, by_name) for column in columns)))


def _group_finding(column: Column, by_name: bool) -> Finding | None:
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", column.name).lower()
    if by_name and not GROUP_NAME.match(words):
        return None
    if column.kind != "string" and not (by_name and column.is_whole):
        return None
    _, counts = np.unique(column.values[~column.missing], return_counts=True)
    mean = counts.mean() if counts.size else 0.0
    if counts.size < FEWEST_VALUES or mean > LARGEST_MEAN or (counts > 1).mean() < 1 / 2:
        return None
    sentence = (
        f'"{column.name}" looks like the name of what rows belong to: {counts.size:,} values, '
        f"{mean:.1f} rows each on average. If rows of one value belong together, say so: "
        f'--group {column.name} (group="{column.name}").'
    )
    return Finding("group", column.name, float(counts.size), sentence)


def labels_are_shared(column: Column, is_p: Mask, is_u: Mask) -> bool:
    """Whether rows of one value are labeled together, or not at all, far more often than others.

    >>> ids, is_p = np.repeat(np.arange(30.0), 4), np.arange(120) < 40
    >>> labels_are_shared(Column("patient_id", "number", ids), is_p, ~is_p)
    True
    """
    _, codes = np.unique(column.values[~column.missing], return_inverse=True)
    p, u = (np.bincount(codes, side[~column.missing]) for side in (is_p, is_u))
    others = p @ (p + u - 1)
    return bool(others > 0 and p @ u / others * TIMES <= is_u.sum() / (is_p | is_u).sum())
