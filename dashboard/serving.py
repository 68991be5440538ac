"""How a server serves: the settings of one application, which `headscape serve` reads from its flags."""

from dataclasses import dataclass, field

from dashboard.notes.address import NotesAddress
from dashboard.web.security import AllowedHosts


@dataclass(frozen=True)
class Serving:
    """Settings of an application; by default it serves this machine alone, to anybody on it.

    Attributes
    ----------
    allowed
        Host names that it answers to.
    notes
        The database of notes; None for a file beside the store.
    """

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    notes: NotesAddress | None = None
