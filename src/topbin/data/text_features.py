"""Text as numbers: words, pairs of words and groups of letters, weighted by TF-IDF.

TF-IDF is Salton & Buckley's (1988), with the logarithm of counts. Pairs of words keep what single
words lose ("not good"); letters see through spelling, and are all there is in a sequence without
words. Long documents do without letters: they cost three times as much as words there, and add
nothing (bench/results/text.md). What is learned here needs no labels.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from topbin.core.errors import InputError, option
from topbin.data.columns import Column
from topbin.data.schema import CONTENT

MANY_TEXTS = 100  # below, pairs of words and letters are mostly seen once
RARE = 3  # texts that must have a term, where texts are many
MOST_TERMS = 100_000
MOST_LETTERS = 50_000
LETTERS_WITHIN = 3_000_000  # letters of all texts together
SHORT_TEXT = 300  # letters; longer texts have words enough
PAIRS: dict[str, Any] = {"ngram_range": (1, 2)}
LETTERS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 5)}
Terms = tuple[tuple[str, ...], tuple[float, ...]]
NOTHING: Terms = ((), ())


def learn_words(column: Column) -> dict[str, Any]:
    """The terms of a text column and the weight of each, as fields of a `Feature`.

    >>> from topbin.data.columns import as_columns
    >>> learned = learn_words(as_columns({"note": ["late claim", "late bill"]})["note"])
    >>> learned["terms"], [round(weight, 2) for weight in learned["idf"]]
    (('late',), [1.0])
    """
    check_is_text(column)
    texts = column.strings
    many = texts.size >= MANY_TEXTS
    pairs = PAIRS if many else {}
    # A term seen once says nothing, unless there are no others.
    words = _learned(texts, (RARE, 2) if many else (2,), MOST_TERMS, **pairs)
    letters = NOTHING
    if many and reads_letters(column):
        letters = _learned(texts, (RARE,), MOST_LETTERS, **LETTERS)
    if not words[0] and not letters[0]:
        words = _learned(texts, (1,), MOST_TERMS)
    if not words[0] and not letters[0]:
        no_words = f'"{column.name}" has no words to read'
        raise InputError("TB108", f"{no_words}; leave out {option('text')}.")
    return {"terms": words[0], "idf": words[1], "letters": letters[0], "letters_idf": letters[1]}


def check_is_text(column: Column) -> None:
    """Raise TB108 if a column is to be read as text and holds something else."""
    if column.kind != "string":
        other = f'"{column.name}" holds {CONTENT[column.kind]}, not text'
        raise InputError("TB108", f"{other}; leave out {option('text')}.")


def letters_of(word: str) -> list[str]:
    """The groups of letters of one word, as texts have them.

    >>> letters_of("Ok")
    [' ok', 'ok ', ' ok ']
    """
    return list(_letter_analyzer()(word))


@cache
def _letter_analyzer() -> Any:
    return _vectorizer(**LETTERS).build_analyzer()


def reads_letters(column: Column) -> bool:
    """Whether groups of letters are worth their time: the texts are short, and not too many."""
    lengths = np.array([*map(len, column.texts), 0])[column.codes]
    return bool(lengths.sum() <= LETTERS_WITHIN and np.median(lengths) <= SHORT_TEXT)


def text_matrix(feature: Any, column: Column) -> Any:
    """What a text column becomes: its words, and its letters if they were learned.

    Each has the weights of known terms in each text, of length 1, or 0 if the text has none.
    """
    # Earlier versions stored single words only.
    pairs = PAIRS if any(" " in term for term in feature.terms) else {}
    words = feature.terms, feature.idf, pairs
    letters = feature.letters, feature.letters_idf, LETTERS
    parts = []
    for terms, idf, options in (words, letters):
        if terms:
            vectorizer = _vectorizer(vocabulary=list(terms), **options)
            vectorizer.idf_ = np.array(idf)
            parts.append(csr_array(vectorizer.transform(column.strings)))
    return hstack(parts, format="csr") if len(parts) > 1 else parts[0]


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **options)


def _learned(texts: NDArray[np.object_], least: Sequence[int], most: int, **options: Any) -> Terms:
    """Terms that are in at least so many texts, and their weights; fewer if none are."""
    for min_df in least:
        vectorizer = _vectorizer(min_df=min_df, max_features=most, **options)
        with suppress(ValueError):  # no term is in that many texts
            vectorizer.fit(texts)
            terms = vectorizer.get_feature_names_out().tolist()
            return tuple(terms), tuple(vectorizer.idf_.tolist())
    return NOTHING
