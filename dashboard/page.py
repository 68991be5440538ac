"""What a page fills the shell with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Page:
    """Parts of a page round the one canvas that all pages share.

    `picture` is what the canvas shows (see `dashboard.point_panels`), None for a page without one. `notices` are sentences
    about what of the link could not be followed.
    """

    above: list[object] = field(default_factory=list)
    picture: Mapping[str, Any] | None = None
    beside: list[object] = field(default_factory=list)
    below: list[object] = field(default_factory=list)
    notices: tuple[str, ...] = ()
