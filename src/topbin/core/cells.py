"""What people write in cells: yes, no, "I am not sure", and that there is no value.

One list for each, so that a label, an answer of an audit, a score and a cell of a table are read
alike, whatever file they come from.
"""

import unicodedata
from collections import Counter
from typing import Any

from topbin.core.errors import InputError

# No value, in a column of any kind, spelled exactly so; the last ones are errors of spreadsheets.
NO_VALUE = (
    "", "NA", "N/A", "NaN", "nan", "NULL", "null",
    "#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!",
)  # fmt: skip
# No value where an answer is expected, in any case; elsewhere "none" is a word like others.
NO_ANSWER = frozenset(
    {*(word.casefold() for word in NO_VALUE), "none", "nil", "nat", "<na>", "blank"}
)
# No value where a number is expected: also signs and words that could be an answer elsewhere.
NO_NUMBER = NO_ANSWER | {
    "?", "??", "-", "--", "–", "—", ".", "..", "...", "…", "*",
    "n.a.", "n.a", "nd", "n.d.", "k.a.", "k. a.", "unknown", "missing", "not available",
    "not known", "unbekannt", "fehlt", "inconnu", "desconocido", "desconhecido", "sconosciuto",
    "onbekend", "неизвестно",
}  # fmt: skip
# Yes and no in languages with many readers, and the truth values of their spreadsheets.
YES_AND_NO = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("positive", "negative"),
    ("pos", "neg"), ("p", "neg"),
    ("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("ja", "nee"), ("ja", "nej"), ("ja", "nei"),
    ("oui", "non"), ("vrai", "faux"), ("sí", "no"), ("si", "no"), ("sì", "no"),
    ("verdadero", "falso"), ("vero", "falso"), ("sim", "não"), ("sim", "nao"),
    ("verdadeiro", "falso"), ("da", "nu"), ("да", "нет"), ("истина", "ложь"), ("так", "ні"),
    ("да", "не"), ("da", "ne"), ("ano", "ne"), ("tak", "nie"), ("áno", "nie"), ("igen", "nem"),
    ("kyllä", "ei"), ("evet", "hayır"), ("evet", "hayir"), ("ναι", "όχι"), ("ya", "tidak"),
    ("có", "không"),
    ("はい", "いいえ"), ("是", "否"), ("是", "不是"), ("예", "아니오"), ("네", "아니요"),
    ("نعم", "لا"), ("כן", "לא"), ("हाँ", "नहीं"),
)  # fmt: skip
YES = frozenset(yes for yes, _ in YES_AND_NO)
NO = frozenset(no for _, no in YES_AND_NO)
NOT_SURE = frozenset({"?", "unsure", "unknown", "maybe", "unclear", "u"})
POSITIVE, NEGATIVE, UNSURE, BLANK = "positive", "negative", "unsure", "blank"  # answers, as read
MEANING = {
    **dict.fromkeys((*NO_ANSWER, BLANK), BLANK),
    **dict.fromkeys((*NOT_SURE, UNSURE), UNSURE),
    **dict.fromkeys(("1", "1.0", *YES, POSITIVE), POSITIVE),
    **dict.fromkeys(("0", "0.0", "-1", "-1.0", *NO, NEGATIVE), NEGATIVE),
}


def plain_word(value: object) -> str:
    """A cell as it is looked up: without case, outer spaces, and ways to write an accent.

    >>> plain_word(" SI\\u0301 ") in YES, plain_word(True), plain_word(None) in NO_NUMBER
    (True, 'true', True)
    """
    return unicodedata.normalize("NFC", str(value)).strip().casefold()


def read_answers(answers: Any) -> list[str]:
    """Each answer as "positive", "negative", "unsure" or "blank".

    Yes and no may be in any of the languages of `topbin.core.cells`, and what this function
    returns can be read again.

    Parameters
    ----------
    answers
        Words, numbers, truth values or empty cells.

    Returns
    -------
    list of str
        One word per answer; TB002 if one is not understood.

    Examples
    --------
    >>> read_answers([1, "No", "?", None, "Ja", "não", "blank"])
    ['positive', 'negative', 'unsure', 'blank', 'positive', 'negative', 'blank']
    """
    values = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    words = [plain_word(value) for value in values]
    strange = Counter(word for word in words if word not in MEANING)
    if strange:
        shown = ", ".join(f"{word!r} ({count:,})" for word, count in strange.most_common(5))
        raise InputError(
            "TB002",
            f"audit answers not understood: {shown}. Write yes or no, ? where you are unsure, "
            "or leave the cell empty.",
        )
    return [MEANING[word] for word in words]
