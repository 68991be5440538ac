"""The fields of a link, each brought into its bounds with a sentence on what had to be changed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from store.repository.progress import IngestProgress

#: Bytes of a typed text in a link, and of the two of a pair: a request has room for every position as well, hidden or
#: chosen, and still fits into what servers read of one.
MOST_TYPED, MOST_OF_PAIR = 3_500, 4_000
_NUMBERS = re.compile(r"\d{1,4}(\.\d{1,4}){0,600}")


@dataclass(frozen=True)
class LinkReader:
    """Fields of a link, each brought into its bounds with a notice; `ingest` is the one that is under way."""

    given: Mapping[str, str]
    notices: list[str]
    ingest: IngestProgress | None = None

    def number(self, name: str, there: range, default: Any) -> Any:
        """One of the whole numbers that are `there`; another is brought to the nearest, what is no number to the default."""
        asked = self.given.get(name)
        if asked is None:
            return default
        digits = asked.removeprefix("-")
        whole = digits.isascii() and digits.isdigit()
        number = int(asked) if whole and len(asked) < 12 else None
        if number in there:
            return number
        nearest = default if number is None else max(there[0], min(number, there[-1]))
        shown = "It is left out." if nearest is None else f"Shown is {name} {nearest:,}."
        problem = "out of range" if whole else "not a whole number"
        self.notices.append(f"{name}={asked[:40]} is {problem} ({there[0]} to {there[-1]:,}). {shown}")
        return nearest

    def share(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        asked = self.given.get(name)
        if asked is None:
            return default
        if re.fullmatch(r"[01](\.\d{1,6})?", asked) and float(asked) <= 1:
            return float(asked)
        self.notices.append(f"{name}={asked[:40]} is no number from 0 to 1. Shown is {default}.")
        return default

    def choice(self, name: str, there: tuple[str, ...], default: Any) -> Any:
        """One of the words that are `there`, of which there may be none."""
        asked = self.given.get(name)
        if asked is not None and not there:
            self.notices.append(f"{name}={asked[:40]} is left out: there is none to choose here yet.")
            return default
        return self._checked(name, lambda asked: asked in there, default, f"one of {', '.join(there)}")

    def matching(self, name: str, form: re.Pattern[str]) -> str | None:
        """A text of this form."""
        found = self._checked(name, lambda asked: form.fullmatch(asked) is not None, None, "in a form that can be read")
        return found if found is None else str(found)

    def numbers(self, name: str, there: range) -> str | None:
        """Whole numbers like `3.4`, each once, of those that are `there`; None where none is."""
        asked = self.matching(name, _NUMBERS)
        each = dict.fromkeys(map(int, asked.split("."))) if asked else {}
        found = [number for number in each if number in there]
        if len(found) < len(each):
            self.notices.append(
                f"Some of {name}={self.given[name][:40]} are out of range ({there[0]} to {there[-1]:,}). They are left out."
            )
        return ".".join(map(str, found)) or None

    def text(self, name: str, most: int) -> str | None:
        """As much of any text as may be."""
        asked = self.given.get(name, "").strip()
        if len(asked) > most:
            self.notices.append(f"A link holds {most:,} characters of {name}. The rest is left out.")
        return asked[:most] or None

    def parts(self, name: str, most: int) -> str | None:
        """As many parts of a list, between `;` and `|`, as may be."""
        asked = self.given.get(name, "").strip()
        if len(asked) <= most:
            return asked or None
        self.notices.append(f"A link holds {most:,} characters of {name}. What does not fit whole is left out.")
        return asked[: max(0, *(asked.rfind(mark, 0, most + 1) for mark in ";|"))] or None

    def typed(self) -> dict[str, str | None]:
        """What a reader typed, as much as a link holds: of a pair each has what the other leaves, half of the room at least."""
        second = min(len(quote_plus(self.given.get("second", "").strip())), MOST_OF_PAIR // 2)
        text = self._typed("text", min(MOST_TYPED, MOST_OF_PAIR - second))
        left = MOST_OF_PAIR - len(quote_plus(text or ""))
        return {"text": text, "second": self._typed("second", min(MOST_TYPED, left))}

    def _typed(self, name: str, most: int) -> str | None:
        asked = self.given.get(name, "").strip()
        if self.given.get(name) and not asked and name == "text":
            self.notices.append("The typed text has no letters. Type a sentence; shown is one of the corpus.")
        kept = asked[:most]
        while len(quote_plus(kept)) > most:
            kept = kept[: len(kept) * most // len(quote_plus(kept))]
        if kept != asked:
            self.notices.append(f"A link holds no longer text: shown are the first {len(kept):,} characters of it.")
        return kept or None

    def _checked(self, name: str, good: Callable[[str], bool], default: Any, wanted: str) -> Any:
        asked = self.given.get(name)
        if asked is None or good(asked):
            return default if asked is None else asked
        self.notices.append(f"{name}={asked[:40]} is not {wanted}. It is left out.")
        return default
