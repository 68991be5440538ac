"""How a server serves: the settings of one application, which `headscape serve` reads from its flags."""

from dataclasses import dataclass, field

from dashboard.monitoring.address_list import AddressList
from dashboard.web.processes import workers_by_default
from dashboard.web.security import AllowedHosts


@dataclass(frozen=True)
class Serving:
    """Settings of an application; by default it serves this machine alone, to anybody on it.

    Attributes
    ----------
    allowed
        Host names that it answers to.
    workers
        Processes that answer.
    metrics_from
        Addresses that may read the metrics.
    access_log
        File of the access log, `-` for standard output; empty for none.
    """

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    workers: int = field(default_factory=workers_by_default)
    metrics_from: AddressList = field(default_factory=AddressList)
    access_log: str = ""
