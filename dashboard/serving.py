"""How a server serves: the settings of one application, which `headscape serve` reads from its flags."""

from dataclasses import dataclass, field

from dashboard.access.settings import Access
from dashboard.models.trees import Tree
from dashboard.notes.address import NotesAddress
from dashboard.web.addresses import LOOPBACK, AddressList
from dashboard.web.processes import workers_by_default
from dashboard.web.security import AllowedHosts


@dataclass(frozen=True)
class Serving:
    """Settings of an application; by default it serves this machine alone, to anybody on it.

    Attributes
    ----------
    allowed
        Host names that it answers to.
    prefix
        Path that its addresses begin with, such as `/team/heads`.
    proxies
        Whose word on the client, the scheme and the host it takes.
    access
        Who may come in.
    workers
        Processes that answer.
    metrics_from
        Addresses that may read the metrics without a name; None: this machine, where nobody signs in.
    access_log
        File of the access log, `-` for standard output; empty for none.
    notes
        The database of notes; None for a file beside the store.
    trees
        Models that page Models shows beside those of the store.
    """

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    prefix: str = ""
    proxies: AddressList = field(default_factory=AddressList)
    access: Access = field(default_factory=Access)
    workers: int = field(default_factory=workers_by_default)
    metrics_from: AddressList | None = None
    access_log: str = ""
    notes: NotesAddress | None = None
    trees: tuple[Tree, ...] = ()

    @property
    def collectors(self) -> AddressList:
        """Addresses that read the metrics without a name."""
        if self.metrics_from is not None:
            return self.metrics_from
        return LOOPBACK if self.access.kind == "none" else AddressList()
