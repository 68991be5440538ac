"""Text in CSV files that a spreadsheet opens: what begins like a formula has an apostrophe before it."""

import re

#: What makes a spreadsheet take a cell for a formula (OWASP, CSV injection).
FORMULA = r"\A[=+\-@\t\r\n]"
#: The last column of every file that Headscape writes, which names what the numbers are of.
PROVENANCE = "provenance"
_GUARDED = re.compile(FORMULA.replace(r"\A", r"\A'(?=") + ")")


def guarded(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if re.match(FORMULA, text) else text


def unguarded(text: str) -> str:
    """The text without the apostrophe of `guarded`."""
    return _GUARDED.sub("", text)
