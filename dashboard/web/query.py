"""The query string of a request, which notes what a route reads of it: a response is made from that alone."""

from collections.abc import Iterator
from typing import Any

from flask import Request, request
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.utils import cached_property

from dashboard.web.state import FIELDS, WITHIN, Of


class ReadFields(ImmutableMultiDict[str, str]):
    """The fields of a query string, and which of them were read.

    `spelled_otherwise`: whether one of them has a value that was read as another one, such as a number beyond the bounds.
    """

    def __init__(self, fields: Any = ()) -> None:
        super().__init__(fields)
        self.names: set[str] = set()
        self.spelled_otherwise = False

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return str(super().__getitem__(name))

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.names.update(super().__iter__())
        return super().__iter__()

    @property
    def in_one_spelling(self) -> bool:
        """Whether every field was read, is there once, and is spelled as links spell it."""
        each = list(super().items(multi=True))
        return (
            not self.spelled_otherwise
            and self.names >= {name for name, _ in each}
            and len({name for name, _ in each}) == len(each)
            and all(_is_spelled(name, text) for name, text in each)
        )


class NotedRequest(Request):
    """A request of a server, whose query string notes what is read of it."""

    @cached_property
    def args(self) -> ReadFields:
        """The fields of the query string."""
        return ReadFields(super().args)


def note_other_spelling() -> None:
    """Say that a field of this request was read as another value than it has."""
    fields = request.args
    if isinstance(fields, ReadFields):
        fields.spelled_otherwise = True


def _is_spelled(name: str, text: str) -> bool:
    """Whether a field of a link has a value that it may have, without blanks around it."""
    bounds = FIELDS[name].bounds if name in FIELDS else None
    if bounds is Of.MATCHES:
        bounds = WITHIN
    return text in bounds if isinstance(bounds, tuple) else text == text.strip()
