"""Plain, idiomatic English: phrases that a reader stumbles over do not occur."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "src",
    "bench/src",
    "bench/scripts",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
# Made from other files, which are checked themselves or hold results.
MADE = {"docs/results.md", "docs/reference/api.md", "docs/reference/research.md"}
SUFFIXES = {".md", ".py", ".pyi", ".html", ".js", ".yml"}
EACH = "row|file|method|worker|part|cut|cell|group|epoch|event|parameter|session|face|verb"

PHRASES = {  # what not to write: what to write
    rf"\b(?:one|two|logit|bytes|ns|[kMG]B|samples|rows|line) a (?:{EACH})\b": "per row",
    rf"\bone \w+ a (?:{EACH})\b": "one … per …",
    r", for (?:it|they|unreadable|the loss)\b": "because",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bknock(?:s|ed|ing)? at\b": "connect to",
    r"\bits (?:sisters|kin)\b": "the related …",
    r"\bmay be dear\b": "can be expensive",
    r"\bof no kind\b": "of an unknown type",
    r"\bby its looks\b": "apparently",
    r"\bof size nothing\b": "empty",
    r"\bstated threshold was passed\b": "the threshold that you set was exceeded",
    r"\bstands? (?:among|there|under|alone|beside)\b": "is in …",
    r"\bmay I\b": "can I",
    r'\bthere is (?:no column )?"': 'the columns are "…"; "…" has no column "…"',
    r"(?<!there )\bis no (?:number|negative|identifier)\b": "is not a …",
    r"\bof which nothing\b": "about which nothing",
    r"\bcheck_wishes\b|\bwith_doubts\b|\bpast_its_best\b": "a plain name",
    r"\bgo(?:es)? on (?:with|from|where)\b": "continue",
    r"\bassumes nothing\b|\bassumption-free\b": "what it assumes",
    r"\btopbin bench\b|\bbenchmarks/|\btopbin\.(?:scale|io|plots|report)\b": "the new name",
    r"colour|labell|behaviour|\bcentre|neighbour|tumour|licence": "American spelling",
    r"(?:standard|minim|memor|normal|summar|optim)is(?:e|i)": "American spelling",
}
ALLOWED = re.compile(
    r"comparis|\bcentre(?:=|:|,|\)| )|\| .*0\.1\.0|^\| `(?:topbin|benchmarks)", re.M
)  # old names in tables


@cache
def lines_to_check():
    """Every line of every text file, with its place."""
    return list(_lines())


def _lines():
    for place in PLACES:
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        for path in found:
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and name not in MADE:
                text = path.read_text(encoding="utf-8").splitlines()
                yield from ((f"{name}:{i}", line) for i, line in enumerate(text, 1))


@pytest.mark.parametrize("pattern", PHRASES)
def test_a_phrase_does_not_occur(pattern):
    phrase = re.compile(pattern, re.IGNORECASE)
    found = [
        f"{place}: {line.strip()}"
        for place, line in lines_to_check()
        if phrase.search(line) and not ALLOWED.search(line)
    ]
    assert found == [], f"write instead: {PHRASES[pattern]}"


@pytest.mark.parametrize(
    "line",
    ["one score a row", "8 bytes a cut", "Mend or remove the file", "slow, for it sorts",
     "rows stand among the unlabeled", "a stated threshold was passed", "memorising"],
)  # fmt: skip
def test_the_list_finds_what_it_should(line):
    assert any(re.search(pattern, line, re.IGNORECASE) for pattern in PHRASES)
