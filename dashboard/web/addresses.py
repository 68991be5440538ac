"""Addresses that flags name: where the server listens, which proxies it trusts, who may read `/metrics`.

The server trusts headers of trusted proxies on the client, and removes the headers of all other senders. One proxy stands before
the server: of several values in a header, the last counts, which this proxy added.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # flags are read before it is known whether the extra is installed
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask import Flask
import errno
import os
import socket
import stat
from pathlib import Path

#: Keys of the WSGI environment: the other end of the connection, regardless of headers, and the client for whom it sends the request.
PEER, CLIENT = "headscape.peer", "REMOTE_ADDR"
#: Address of every client of a unix socket, also in flags.
UNIX = "unix"
#: Prefix of the path of a unix socket in `--host`.
UNIX_PREFIX = "unix:"
#: Beginnings of the WSGI keys of headers in which proxies describe a client.
FORWARDED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED")
#: Advice on hosts in the message that refuses one.
ADDRESSES = "Give 127.0.0.1 for this machine alone, or 0.0.0.0 for its networks."
#: Bits of an address of IPv6 before the address of IPv4 that it stands for (RFC 4291, section 2.5.5.2).
_MAPPED_BITS = 96
#: Most bytes of the path of a unix socket (unix(7)).
LONGEST_PATH = 107


@dataclass(frozen=True)
class AddressList:
    """Networks, and optionally all clients of unix sockets."""

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
        if isinstance(known, IPv6Address):  # a socket of IPv6 gives addresses of IPv4 in this form
            known = known.ipv4_mapped or known
        return any(known in network for network in self.networks)

    def admits(self, environ: Mapping[str, Any]) -> bool:
        """Whether both the connection of a request and the client for whom a proxy sends it are in the list."""
        return environ.get(CLIENT, "") in self and peer_of(environ) in self


#: Addresses of this machine.
LOOPBACK = AddressList((ip_network("127.0.0.0/8"), ip_network("::1")))


def peer_of(environ: Mapping[str, Any]) -> str:
    """The address at the other end of a request's connection."""
    return str(environ.get(PEER, environ.get(CLIENT, "")))


def address_list(names: Iterable[str], *, flag: str) -> AddressList:
    """The addresses and networks that a flag names; `unix` stands for all clients of a unix socket.

    Raises
    ------
    ValueError
        Where a name is neither; the message names the flag.
    """
    stripped = [name.strip() for name in names if name.strip()]
    return AddressList(tuple(_network(name, flag) for name in stripped if name != UNIX), UNIX in stripped)


def _network(name: str, flag: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(name)
    except ValueError as error:
        raise ValueError(
            f"{flag}={name} is not an address. Write addresses such as 10.0.0.1, networks such as 10.0.0.0/24, or unix, "
            "separated by commas."
        ) from error
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))  # clients are looked up by their address of IPv4


def follow_proxies(server: "Flask", trusted: AddressList, identity: str = "") -> None:
    """Apply X-Forwarded-For, -Proto and -Host of trusted proxies; remove such headers from other senders.

    `identity` is the header in which another proxy may name the person: the gate checks the connection before it trusts the header.
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


def socket_path(host: str) -> Path | None:
    """The path of a unix socket; None where the host is an address."""
    return Path(host.removeprefix(UNIX_PREFIX)) if host.startswith(UNIX_PREFIX) else None


def bind_of(host: str, port: int) -> str:
    """Address that gunicorn binds: host and port as in a URL, with an IPv6 address in brackets, or the unix socket."""
    if socket_path(host):
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_free(host: str, port: int) -> None:
    """Raise ValueError with what to do next where the server cannot listen."""
    path = socket_path(host)
    if path is None:
        _check_port(host, port)
    else:
        _check_path(path)


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except socket.gaierror as error:
        raise ValueError(f"--host={host} is not known. {ADDRESSES}") from error
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL:
            raise ValueError(f"--host={host} is no address of this machine. {ADDRESSES}") from error
        raise ValueError(f"Port {port} of {host} is not available. Choose another one with --port=...") from error


def _check_path(path: Path) -> None:
    """Raise ValueError where the socket cannot be made. A socket without a listener is of a killed server: gunicorn replaces it."""
    if not path.is_absolute() or len(os.fsencode(path)) > LONGEST_PATH:
        raise ValueError(
            f"--host=unix:{path} is not an absolute path of at most {LONGEST_PATH} bytes. Choose another path."
        )
    if not path.parent.is_dir():
        raise ValueError(
            f"There is no folder {path.parent} for the socket. Create it, or choose another path in --host."
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(
            f"This user may not create a socket in {path.parent}. Change its owner, or choose another path."
        )
    if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
        raise ValueError(f"{path} is not a socket. Remove it, or choose another path in --host.")
    if path.exists() and _is_listened_to(path):
        raise ValueError(f"Another server listens on {path}. Stop it, or choose another path in --host.")


def _is_listened_to(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:  # the socket is another user's
            return True
    return True
