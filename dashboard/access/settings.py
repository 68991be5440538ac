"""Settings of access: who may come in, as `headscape serve` reads it from its flags."""

from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from dashboard.access.person import Person, Role
from dashboard.web.addresses import AddressList

Kind = Literal["none", "password", "oidc", "proxy"]
STATE = Path("data/access")
SESSION_HOURS = 12.0


@dataclass(frozen=True)
class Provider:
    """An OpenID provider, and whom of its people this server admits: of these domains, and of one of these groups.

    Everybody where `domains` is `*`.
    """

    discovery: str
    client: str
    secret: str = field(repr=False)
    domains: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrustedProxy:
    """The header in which a proxy names the person, and the addresses from which that is believed."""

    header: str
    addresses: AddressList


@dataclass(frozen=True)
class Access:
    """Who may come in; by default anybody who reaches the server, which then answers its own machine alone.

    Attributes
    ----------
    state
        Folder of the key that signs sessions and of those that were ended: the same for all workers and restarts.
    authors
        Names, or `@example.org` for all names that end so, which may write notes, where a provider or a proxy names people.
    """

    kind: Kind = "none"
    state: Path = STATE
    users: Path = STATE / "users.json"
    session_hours: float = SESSION_HOURS
    provider: Provider | None = None
    proxy: TrustedProxy | None = None
    authors: tuple[str, ...] = ()

    @property
    def signs_in(self) -> bool:
        """Whether the server has sessions and a page to sign in."""
        return self.kind in ("password", "oidc")

    @property
    def policy(self) -> str:
        """Names the settings by which a session was begun: it ends when they change."""
        provider = asdict(self.provider) | {"secret": ""} if self.provider else str(self.users.resolve())
        return sha256(repr((self.kind, provider)).encode()).hexdigest()[:16]

    def person(self, name: str) -> Person:
        """The person of a name that a provider or a proxy vouches for."""
        name = name.lower()
        is_author = any(name.endswith(author) if author[0] == "@" else name == author for author in self.authors)
        role: Role = "author" if is_author else "reader"
        return Person(name, role)
