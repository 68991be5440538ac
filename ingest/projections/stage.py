"""Stage `projections`: bring pictures of heads, of feature points and of values up to date.

A picture is fitted on a sample of the tokens; every other token is placed by a stated rule; the places are judged
against the vectors and stored as whole numbers in a cube. Hashes tell what each part was computed from: what is up to
date is not computed again, and an interrupted ingest goes on where it stopped.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from store.repository.writer import Writer


class Drawing(Protocol):
    """One picture, or several that are computed together because they place the same vectors."""

    def begin(self) -> None:
        """Start the fits that run in processes, so that other pictures need not wait for them."""
        ...

    def draw(self) -> Iterator[str]:
        """Fit, place, judge and write. Yields a commit message wherever the store may be left as it is."""
        ...

    def finish(self) -> str:
        """Describe the pictures and mark them as whole; the message of the last commit."""
        ...


Drawn = TypeVar("Drawn", bound=Drawing)


def begin(drawings: Sequence[Drawn]) -> Sequence[Drawn]:
    """Start the fits of pictures, unless they have begun; the same pictures."""
    for drawing in drawings:
        drawing.begin()
    return drawings


def project(writer: Writer, drawings: Sequence[Drawn]) -> Iterator[Drawn]:
    """Compute pictures one after the other; each is yielded when it is whole and committed."""
    for drawing in begin(drawings):
        _commit(writer, drawing.draw())
        _commit(writer, [drawing.finish()])
        yield drawing


def _commit(writer: Writer, messages: Iterable[str]) -> None:
    for message in messages:
        writer.commit(message)
