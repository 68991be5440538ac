"""How a server serves: the settings of one application, which `headscape serve` reads from its flags."""

from dataclasses import dataclass, field

from dashboard.access.settings import Access
from dashboard.web.proxies import TrustedProxies
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
    """

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    prefix: str = ""
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    access: Access = field(default_factory=Access)
