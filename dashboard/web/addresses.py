"""Addresses and networks that a flag names: of trusted proxies, of those that may read `/metrics`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

#: Keys of the WSGI environment: the other end of the connection, whatever its headers say, and the client it speaks for.
PEER, CLIENT = "headscape.peer", "REMOTE_ADDR"
#: The address of whoever is connected by a unix socket, also in flags.
UNIX = "unix"


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
