"""Reverse proxies: the server takes the word of named ones on who the client is, and removes what all others claim.

One proxy stands before the server: of several values in a header the last counts, which that proxy added.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: The address of whoever is connected by a unix socket, also in `--trusted-proxies`.
UNIX = "unix"
#: Key of the WSGI environment: the address at the other end of the connection, whatever its headers say.
PEER = "headscape.peer"


@dataclass(frozen=True)
class TrustedProxies:
    """Addresses of reverse proxies."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    unix: bool = False

    def __contains__(self, peer: str) -> bool:
        """Whether a connection from this address is from one of them."""
        if peer == UNIX:
            return self.unix
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, IPv6Address):  # a socket of IPv6 shows addresses of IPv4 so
            address = address.ipv4_mapped or address
        return any(address in network for network in self.networks)


def trusted_proxies(names: Iterable[str]) -> TrustedProxies:
    """The proxies of these addresses and networks; `unix` are all that connect by a unix socket.

    Raises
    ------
    ValueError
        Where a name is none of these.
    """
    stripped = [name.strip() for name in names if name.strip()]
    return TrustedProxies(tuple(_network(name) for name in stripped if name != UNIX), UNIX in stripped)


def _network(name: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(name)
    except ValueError as error:
        raise ValueError(
            f"--trusted-proxies={name} is not an address. Write addresses such as 10.0.0.1, networks such as "
            "10.0.0.0/24, or unix, separated by commas."
        ) from error


def follow_proxies(server: Flask, trusted: TrustedProxies) -> None:
    """Apply X-Forwarded-For, -Proto and -Host of trusted proxies; remove every header of the kind that others send."""
    answer = server.wsgi_app
    fixed = ProxyFix(answer, x_for=1, x_proto=1, x_host=1)

    def follow(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        environ[PEER] = environ.get("REMOTE_ADDR", "")
        if environ[PEER] in trusted:
            return fixed(environ, start_response)
        for name in [name for name in environ if name.startswith("HTTP_X_FORWARDED_") or name == "HTTP_FORWARDED"]:
            del environ[name]
        return answer(environ, start_response)

    server.wsgi_app = follow  # type: ignore[method-assign]
