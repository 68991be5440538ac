"""What a page fills the shell with."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Page:
    """Parts of a page round the one canvas that all pages share.

    `notices` are sentences about what of the link could not be followed.
    """

    above: list[object] = field(default_factory=list)
    beside: list[object] = field(default_factory=list)
    below: list[object] = field(default_factory=list)
    notices: tuple[str, ...] = ()
