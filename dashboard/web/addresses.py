"""Addresses and networks that a flag names: of trusted proxies, of those that may read `/metrics`.

The server takes the word of trusted proxies on who the client is, and removes what all others claim. One proxy stands before
the server: of several values in a header the last counts, which that proxy added.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # flags are read before it is known whether the extra is installed
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask import Flask

#: Keys of the WSGI environment: the other end of the connection, whatever its headers say, and the client it speaks for.
PEER, CLIENT = "headscape.peer", "REMOTE_ADDR"
#: The address of whoever is connected by a unix socket, also in flags.
UNIX = "unix"
#: What the path of a unix socket follows in `--host`.
UNIX_PREFIX = "unix:"
#: Beginnings of the keys of what proxies say of a client.
FORWARDED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED")


@dataclass(frozen=True)
class AddressList:
    """Networks, and perhaps unix sockets."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    unix: bool = False

    def __contains__(self, address: str) -> bool:
        """Whether an address is in one of the networks."""
        if address == UNIX:
            return self.unix
        try:
            known = ip_address(address)
        except ValueError:
            return False
        if isinstance(known, IPv6Address):  # a socket of IPv6 shows addresses of IPv4 so
            known = known.ipv4_mapped or known
        return any(known in network for network in self.networks)

    def admits(self, environ: Mapping[str, Any]) -> bool:
        """Whether a request comes from one of them: the connection, and the client for whom a proxy sends it."""
        return environ.get(CLIENT, "") in self and peer_of(environ) in self


#: This machine.
LOOPBACK = AddressList((ip_network("127.0.0.0/8"), ip_network("::1")))


def peer_of(environ: Mapping[str, Any]) -> str:
    """The address at the other end of a request's connection."""
    return str(environ.get(PEER, environ.get(CLIENT, "")))


def address_list(names: Iterable[str], *, flag: str) -> AddressList:
    """The addresses and networks that a flag names; `unix` are all that connect by a unix socket.

    Raises
    ------
    ValueError
        Where a name is none of these; its message names the flag.
    """
    stripped = [name.strip() for name in names if name.strip()]
    return AddressList(tuple(_network(name, flag) for name in stripped if name != UNIX), UNIX in stripped)


def _network(name: str, flag: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(name)
    except ValueError as error:
        raise ValueError(
            f"{flag}={name} is not an address. Write addresses such as 10.0.0.1, networks such as 10.0.0.0/24, or unix, "
            "separated by commas."
        ) from error


def follow_proxies(server: "Flask", trusted: AddressList, identity: str = "") -> None:
    """Apply X-Forwarded-For, -Proto and -Host of trusted proxies; remove every header of the kind that others send.

    `identity` is the header in which another proxy may name the person: the gate asks who is connected before it believes it.
    """
    from werkzeug.middleware.proxy_fix import ProxyFix

    answer, of_identity = server.wsgi_app, f"HTTP_{identity.upper().replace('-', '_')}"
    fixed = ProxyFix(answer, x_for=1, x_proto=1, x_host=1)

    def follow(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        environ[PEER] = environ.get(CLIENT, "")
        if environ[PEER] in trusted:
            return fixed(environ, start_response)
        for name in [name for name in environ if name.startswith(FORWARDED) and name != of_identity]:
            del environ[name]
        return answer(environ, start_response)

    server.wsgi_app = follow  # type: ignore[method-assign]
