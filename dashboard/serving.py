"""Settings of one application, which `headscape serve` reads from its flags."""

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
        Host names that the application answers to.
    prefix
        Path at the beginning of all addresses, such as `/team/heads`.
    proxies
        Proxies whose headers on the client, the scheme and the host are trusted.
    access
        Rule on who may sign in.
    workers
        Number of processes that answer requests.
    metrics_from
        Addresses that may read the metrics without signing in; None: this machine where nobody signs in, else no address.
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
        """Addresses that may read the metrics without signing in."""
        if self.metrics_from is not None:
            return self.metrics_from
        return LOOPBACK if self.access.kind == "none" else AddressList()
