"""Settings of access: who may come in, the flags of `headscape serve` for it, and errors of flags, as one sentence."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from dashboard.access.person import Person, Role
from dashboard.web.addresses import UNIX_PREFIX, AddressList, address_list

Kind = Literal["none", "password", "oidc", "proxy"]
STATE = Path("data/access")
SESSION_HOURS = 12.0
KINDS: tuple[Kind, ...] = get_args(Kind)
SECRET = "HEADSCAPE_OIDC_SECRET"
#: Variable that names a file with the secret: other processes of the user see an environment, and `docker inspect` shows it.
SECRET_FILE = f"{SECRET}_FILE"
WELL_KNOWN = "/.well-known/openid-configuration"
_DOMAIN = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
#: Headers that a browser fills in: none of them may name a person.
_OF_BROWSERS = {"host", "cookie", "origin", "referer", "user-agent", "authorization", "accept", "content-type"}
#: Flags by the kind of access that they belong to.
OF_KIND: Mapping[str, str] = {
    "users": "password",
    "oidc_discovery": "oidc",
    "oidc_client": "oidc",
    "oidc_domains": "oidc",
    "oidc_groups": "oidc",
    "identity_header": "proxy",
    "identity_from": "proxy",
    "open_to_anybody": "none",
}


@dataclass(frozen=True)
class Provider:
    """An OpenID provider; this server admits its people of one of `domains` and one of `groups`, where these are given.

    `*` in `domains` admits every domain.
    """

    discovery: str
    client: str
    secret: str = field(repr=False)
    domains: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    #: Longest wait to connect to the provider, and for a byte from it.
    seconds: tuple[float, float] = (3, 10)


@dataclass(frozen=True)
class TrustedProxy:
    """The header in which a proxy names the person, and the addresses from which that header is believed."""

    header: str
    addresses: AddressList


@dataclass(frozen=True)
class Access:
    """Who may come in; by default anybody who reaches the server, which then answers its own machine alone.

    Attributes
    ----------
    state
        Folder of the key that signs sessions and of the file of ended sessions: the same for all workers and restarts.
    authors
        Names that may write notes, where a provider or a proxy names people; `@example.org`: all names that end so.
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
        """Digest of the settings under which a session begins: the session ends when they change."""
        provider = asdict(self.provider) | {"secret": ""} if self.provider else str(self.users.resolve())
        return sha256(repr((self.kind, provider)).encode()).hexdigest()[:16]

    def person(self, name: str) -> Person:
        """The person of a name that a provider or a proxy vouches for."""
        name = name.lower()
        is_author = any(name.endswith(author) if author[0] == "@" else name == author for author in self.authors)
        role: Role = "author" if is_author else "reader"
        return Person(name, role)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of access."""
    flags = parser.add_argument_group("access", "who may come in; docs/access.md explains each kind")
    flags.add_argument("--auth", default="", metavar="|".join(KINDS), help="who may come in (default none)")
    flags.add_argument("--open-to-anybody", action="store_true", help="allow --auth=none on an address of the network")
    add_folder_flags(flags)
    flags.add_argument(
        "--session-hours", default="", help=f"hours until people sign in again (default {SESSION_HOURS:g})"
    )
    flags.add_argument("--oidc-discovery", default="", metavar="URL", help="address of an OpenID provider")
    flags.add_argument(
        "--oidc-client",
        default="",
        metavar="ID",
        help=f"its client; the secret is read from {SECRET} or the file {SECRET_FILE}",
    )
    flags.add_argument("--oidc-domains", default="", metavar="NAME,...", help="domains of e-mail to admit; * is all")
    flags.add_argument("--oidc-groups", default="", metavar="NAME,...", help="groups to admit: one is enough")
    flags.add_argument("--identity-header", default="", metavar="NAME", help="header in which a proxy names the person")
    flags.add_argument("--identity-from", default="", metavar="ADDRESS,...", help="addresses or networks of that proxy")
    flags.add_argument(
        "--authors", default="", metavar="NAME,...", help="who may write notes (oidc, proxy); @example.org: all of it"
    )


def add_folder_flags(flags: argparse._ActionsContainer) -> None:
    """Add the flags that name files of access."""
    flags.add_argument("--state", default="", metavar="FOLDER", help=f"folder of sessions and users (default {STATE})")
    flags.add_argument("--users", default="", metavar="FILE", help="users file (default users.json in --state)")


def folders(options: argparse.Namespace) -> tuple[Path, Path]:
    """The state folder and the users file."""
    state = Path(options.state or STATE)
    return state, Path(options.users or state / "users.json")


def access_of(options: argparse.Namespace, environment: Mapping[str, str]) -> Access:
    """The settings of access.

    Raises
    ------
    ValueError
        Where the flags do not fit each other; the message is a sentence that ends with what to do.
    """
    kind = _kind(options)
    state, users = folders(options)
    authors = tuple(name.lower() for name in _names(options.authors))
    if authors and kind in ("none", "password"):
        raise ValueError("--authors belongs to --auth=oidc and --auth=proxy. Leave it out; users have their role.")
    return Access(
        kind=kind,
        state=state,
        users=users,
        session_hours=_hours(options.session_hours),
        provider=_provider(options, environment) if kind == "oidc" else None,
        proxy=_proxy(options) if kind == "proxy" else None,
        authors=authors,
    )


def _kind(options: argparse.Namespace) -> Kind:
    kind = next((kind for kind in KINDS if kind == (options.auth or "none")), None)
    if kind is None:
        raise ValueError(f"--auth={options.auth} is not known. Write one of {', '.join(KINDS)}.")
    for name, of_kind in OF_KIND.items():
        if getattr(options, name) and of_kind != kind:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} belongs to --auth={of_kind}. Add that, or leave out --{flag}.")
    if kind == "none" and not options.open_to_anybody and not is_of_this_machine(options.host):
        raise ValueError(
            f"--auth=none would let anybody in who reaches {options.host or 'this machine'}. Choose --auth=password, oidc or "
            "proxy, or add --open-to-anybody if that is what you want."
        )
    return kind


def is_of_this_machine(host: str) -> bool:
    """Whether only this machine reaches a server that listens on a host: its loopback address, or a socket in its file system."""
    if host.lower() == "localhost" or host.startswith(UNIX_PREFIX):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _hours(text: str) -> float:
    try:
        hours = float(text or SESSION_HOURS)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= 24 * 366:
        raise ValueError(f"--session-hours={text} is not possible. Write a number of hours above 0, at most 8784.")
    return hours


def _provider(options: argparse.Namespace, environment: Mapping[str, str]) -> Provider:
    secret, domains = _secret(environment), tuple(name.lower() for name in _names(options.oidc_domains))
    if not (options.oidc_discovery and options.oidc_client and secret):
        raise ValueError(
            f"--auth=oidc needs --oidc-discovery=URL, --oidc-client=ID and the variable {SECRET} or {SECRET_FILE}. Give all."
        )
    if not domains and not options.oidc_groups:
        raise ValueError(
            "--auth=oidc needs --oidc-domains or --oidc-groups. `--oidc-domains=*` admits all of the provider."
        )
    for name in domains:
        if name != "*" and not _DOMAIN.fullmatch(name):
            raise ValueError(
                f"--oidc-domains={name} is no domain. Write names such as example.org, separated by commas."
            )
    return Provider(
        _discovery(options.oidc_discovery), options.oidc_client, secret, domains, _names(options.oidc_groups)
    )


def _secret(environment: Mapping[str, str]) -> str:
    file = environment.get(SECRET_FILE)
    if not file:
        return environment.get(SECRET, "")
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{SECRET_FILE}={file} cannot be read as text. Name a file that the user of the server may read."
        ) from error


def _discovery(address: str) -> str:
    parts = urlsplit(address)
    is_private = parts.scheme == "https" or (parts.scheme == "http" and is_of_this_machine(parts.hostname or ""))
    if not (is_private and parts.hostname):
        raise ValueError(f"--oidc-discovery={address} is not an address with https://. Write that of the provider.")
    return address if address.endswith(WELL_KNOWN) else address.rstrip("/") + WELL_KNOWN


def _proxy(options: argparse.Namespace) -> TrustedProxy:
    header = options.identity_header
    if not (header and options.identity_from.strip(" ,")):
        raise ValueError("--auth=proxy needs --identity-header=NAME and --identity-from=ADDRESS,... Give both.")
    if not _HEADER.fullmatch(header) or header.lower() in _OF_BROWSERS:
        raise ValueError(f"--identity-header={header} cannot name a person. Write one such as X-Forwarded-User.")
    return TrustedProxy(header, address_list(options.identity_from.split(","), flag="--identity-from"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
