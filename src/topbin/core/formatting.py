"""Numbers and names as people read them: enough digits, singular and plural, nothing hidden."""

import re
from collections.abc import Iterable
from math import floor, log10

NARROW = 0.05  # ranges of less than this have three decimals
SHOWN = 5  # names in a list
NOTHING = 1e-9  # what is left of a share that is 0 or 1 but for rounding
# Names and cells must not steer what shows them.
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def figure(share: float, places: int = 3) -> str:
    """A share with at least so many decimals, and two digits of its distance from 0 or from 1.

    >>> figure(0.25), figure(0.00042), figure(0.99958), figure(0.0), figure(0.25, places=2)
    ('0.250', '0.00042', '0.99958', '0.000', '0.25')
    """
    return f"{share:.{max(places, _decimals(share))}f}"


def difference(value: float) -> str:
    """A difference of two shares.

    >>> difference(-0.25), difference(0.00042), difference(-0.0)
    ('-0.25', '0.00042', '0.00')
    """
    text = figure(abs(value), places=2)
    return f"-{text}" if value < 0 and float(text) else text


def percent(share: float) -> str:
    """The same as a percentage, without zeros at its end.

    >>> percent(0.25), percent(0.026), percent(0.00042), percent(0.95), percent(1.0)
    ('25', '2.6', '0.042', '95', '100')
    """
    text = f"{100 * share:.{max(0, _decimals(share) - 2)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def low_to_high(interval: Iterable[float]) -> str:
    """An interval in words.

    >>> low_to_high((0.00042, 0.25))
    '0.00042 to 0.250'
    """
    return " to ".join(map(figure, interval))


def range_ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of a range with the same decimals, two, or three if it is narrow.

    An end that these would hide has more.

    >>> range_ends(0.063, 0.4), range_ends(0.00042, 1.0), range_ends(0.011, 0.022)
    (('0.06', '0.40'), ('0.00042', '1.00'), ('0.011', '0.022'))
    """
    places = 3 if high - low < NARROW else 2
    low_text, high_text = (
        f"{end:.{places}f}"
        if abs(round(end, places) - round(end)) > NOTHING or end in (0, 1)
        else figure(end, places)
        for end in (low, high)
    )
    return low_text, high_text


def sentence(text: str) -> str:
    """The text with a capital letter at its start; α and names of files stay as they are.

    >>> sentence("only 12 rows."), sentence("α = 0.970 is high."), sentence("a.csv differs.")
    ('Only 12 rows.', 'α = 0.970 is high.', 'a.csv differs.')
    """
    first = text.partition(" ")[0]
    plain = first.isascii() and "." not in first[:-1]
    return text[:1].upper() + text[1:] if plain else text


def line(name: str, text: object) -> str:
    """A line of a summary: what it is about, and what is said in a column beside it.

    >>> line("alarms", "no alarms")
    'alarms          no alarms'
    """
    return f"{name:<16}{text}"


def counted(number: float, noun: str = "row") -> str:
    """A number of things, rounded to a whole one.

    >>> counted(1), counted(1234.4), counted(0, "alarm")
    ('1 row', '1,234 rows', '0 alarms')
    """
    text = f"{number:,.0f}"
    return f"{text} {noun}{'' if text == '1' else 's'}"


def listed(names: Iterable[str]) -> str:
    """The first names in alphabetical order.

    >>> listed("bca"), listed("hgfedcba")
    ('a, b, c', 'a, b, c, d, e, …')
    """
    names = sorted(names)
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def counted_columns(count: int, kind: str) -> str:
    """How many columns of a kind.

    >>> counted_columns(1, "number"), counted_columns(2, "category"), counted_columns(2, "text")
    ('1 number', '2 categories', '2 text')
    """
    if kind in ("text", "yes/no"):
        return f"{count:,} {kind}"
    return f"{count:,} categories" if kind == "category" and count > 1 else counted(count, kind)


def visible(text: str) -> str:
    """Text with control and text-direction characters as escapes.

    >>> print(visible("amount" + chr(27) + "[2J"))
    amount\\u001b[2J
    """
    return STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _decimals(share: float) -> int:
    rest = min(abs(share), abs(1 - share))
    return 1 - floor(log10(rest)) if rest > NOTHING else 0
