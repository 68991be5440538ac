"""How a server serves: the settings of one application, which `headscape serve` reads from its flags."""

from dataclasses import dataclass, field

from dashboard.access.settings import Access
from dashboard.web.security import AllowedHosts


@dataclass(frozen=True)
class Serving:
    """Settings of an application; by default it serves this machine alone, to anybody on it.

    Attributes
    ----------
    allowed
        Host names that it answers to.
    access
        Who may come in.
    """

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    access: Access = field(default_factory=Access)
