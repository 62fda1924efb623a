"""Characters that nobody sees, made visible: names and cells must not steer what shows them."""

import re

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text with control and text-direction characters as escapes.

    >>> print(visible("amount" + chr(27) + "[2J"))
    amount\\u001b[2J
    """
    return STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
