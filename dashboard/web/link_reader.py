"""Reads the fields of a link: a value that is out of its bounds is changed, with a notice."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from dashboard.web.state import DEFAULTS, FIELDS, MOST_OF_PAIR, MOST_TYPED, Kind, Of

_NUMBERS = re.compile(r"\d{1,4}(\.\d{1,4}){0,600}")


@dataclass(frozen=True)
class LinkReader:
    """Reads the fields of a link; a value that is out of its bounds is changed, with a notice.

    Attributes
    ----------
    written
        The fields of the link, as written there.
    bounds
        What `Of` stands for in the store that is open.
    notices
        Every notice is added here.
    """

    written: Mapping[str, str]
    bounds: Mapping[Of, range | tuple[str, ...]]
    notices: list[str]

    def read(self, name: str) -> Any:
        """The value of a field: within its bounds, by default where the link does not hold it."""
        if name not in self.written:
            return DEFAULTS[name]
        field = FIELDS[name]
        bounds = self.bounds[field.bounds] if isinstance(field.bounds, Of) else field.bounds
        readers: Mapping[Kind, Callable[[str, str, Any], Any]] = {
            "number": self._number,
            "share": self._share,
            "choice": self._choice,
            "switch": self._choice,
            "numbers": self._numbers,
            "text": self._text,
            "typed": self._typed,
            "conditions": self._conditions,
            "pattern": self._pattern,
        }
        return readers[field.kind](name, self.written[name], bounds)

    def typed_pair(self) -> tuple[str | None, str | None]:
        """`text` and `second`: each has the bytes of a link that the other leaves, at least half of them."""
        second = min(len(quote_plus(self.written.get("second", "").strip())), MOST_OF_PAIR // 2)
        text = self._typed("text", self.written.get("text", ""), min(MOST_TYPED, MOST_OF_PAIR - second))
        left = MOST_OF_PAIR - len(quote_plus(text or ""))
        return text, self._typed("second", self.written.get("second", ""), min(MOST_TYPED, left))

    def _number(self, name: str, text: str, bounds: range) -> int | None:
        """A whole number, or the nearest within the bounds."""
        digits = text.removeprefix("-")
        there = self._there(name, bounds)
        if not (digits.isascii() and digits.isdigit()):
            return self._default(name, f"is not a whole number ({_range_text(there)})")
        if len(text) >= 12:
            return self._default(name, f"is out of range ({_range_text(there)})")
        number = max(bounds[0], min(int(text), bounds[-1]))
        if number != int(text):
            shown = min(number, there[-1])
            self.notices.append(f"{name}={text} {self._beyond(name, int(text), there)}; showing {shown:,}")
        return number

    def _beyond(self, name: str, number: int, there: range) -> str:
        """Why a number is not shown: a sentence may be counted, but without vectors."""
        if name == "sentence" and number in self.bounds[Of.COUNTED_SENTENCES]:
            return no_vectors(len(there))
        return f"is out of range ({_range_text(there)})"

    def _there(self, name: str, bounds: range) -> range:
        """The bounds that a notice names: a store may have fewer tokens than a page can draw."""
        return range(1, min(bounds[-1], len(self.bounds[Of.TOKENS])) + 1) if name == "tokens" else bounds

    def _share(self, name: str, text: str, _bounds: None) -> float | None:
        if re.fullmatch(r"[01](\.\d{1,6})?", text) and float(text) <= 1:
            return float(text)
        return self._default(name, "is not a number from 0 to 1")

    def _choice(self, name: str, text: str, bounds: tuple[str, ...]) -> str | None:
        return text if text in bounds else self._ignored(name)

    def _numbers(self, name: str, text: str, bounds: range) -> str | None:
        """Whole numbers such as `3.4`, each once; None where none is within the bounds."""
        if not _NUMBERS.fullmatch(text):
            return self._ignored(name)
        each = dict.fromkeys(map(int, text.split(".")))
        within = [number for number in each if number in bounds]
        if len(within) < len(each):
            self.notices.append(f"{name}={text[:40]}: ignored numbers out of range ({_range_text(bounds)})")
        return ".".join(map(str, within)) or None

    def _text(self, name: str, text: str, most: int) -> str | None:
        text = text.strip()
        if len(text) > most:
            self.notices.append(f"{name} is longer than {most:,} characters; using the first {most:,}")
        return text[:most] or None

    def _conditions(self, name: str, text: str, most: int) -> str | None:
        """The parts between `;` and `|` that fit whole."""
        text = text.strip()
        if len(text) <= most:
            return text or None
        self.notices.append(f"{name} is longer than {most:,} characters; ignoring the conditions beyond them")
        return text[: max(0, *(text.rfind(mark, 0, most + 1) for mark in ";|"))] or None

    def _pattern(self, name: str, text: str, pattern: str) -> str | None:
        return text if re.fullmatch(pattern, text) else self._ignored(name)

    def _typed(self, name: str, text: str, most: int) -> str | None:
        """The beginning of a text, of so many bytes in a link."""
        if text and not text.strip() and name == "text":
            self.notices.append("The typed text is empty. Type a sentence; showing one of the corpus")
        whole = text.strip()
        cut = whole[:most]
        while (size := len(quote_plus(cut))) > most:
            cut = cut[: len(cut) * most // size]
        if cut != whole:
            self.notices.append(f"The text is too long for a link; showing its first {len(cut):,} characters")
        return cut or None

    def _default(self, name: str, problem: str) -> Any:
        default = DEFAULTS[name]
        if default is None:
            return self._ignored(name)
        shown = min(default, len(self.bounds[Of.TOKENS])) if name == "tokens" else default
        self.notices.append(f"{name}={self.written[name][:40]} {problem}; showing {shown:,}")
        return default

    def _ignored(self, name: str) -> Any:
        self.notices.append(f"Ignored an invalid parameter: {name}={self.written[name][:40]}")
        return DEFAULTS[name]


def no_vectors(sentences: int) -> str:
    """Why a sentence is not shown where so many have vectors, and what to do."""
    return f"has no stored vectors ({_range_text(range(sentences))} have): run `headscape ingest --vectors=all`"


def _range_text(bounds: range) -> str:
    return f"{bounds[0]}-{bounds[-1]:,}"
