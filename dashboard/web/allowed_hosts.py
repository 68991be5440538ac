"""Names by which the server may be asked: any other may be a stranger's, pointed at this address to read from here."""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from flask import Flask, abort, request
from werkzeug.sansio.utils import host_is_trusted

#: This machine by its own names; a browser asks nobody else what they mean.
LOCAL = (".localhost", "127.0.0.1", "::1")
_NAME = re.compile(r"\.?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")


@dataclass(frozen=True)
class AllowedHosts:
    """Host names, and addresses without brackets. `.example.org` is every name that ends so.

    With `every_address` any address is allowed. That is safe, as only a name can be pointed elsewhere (DNS rebinding), and
    a server that listens on every address of its machine does not know under which of them others reach it.
    """

    names: tuple[str, ...] = LOCAL
    every_address: bool = False

    def __contains__(self, host: str) -> bool:
        """Whether a request with this Host header is answered."""
        if not host_is_trusted(host):  # it has letters that no host has
            return False
        address = _address(host)
        if address is None:
            return host_is_trusted(host.lower(), self.names)
        return self.every_address or any(address == _address(name) for name in self.names)

    def __str__(self) -> str:
        """The names, without addresses."""
        return ", ".join(name.removeprefix(".") if name in LOCAL else name for name in self.names if not _address(name))


def allowed_hosts(bound: str, more: Iterable[str]) -> AllowedHosts:
    """The address the server is bound to, this machine's local names, and more; its own names where bound to all addresses.

    Raises
    ------
    ValueError
        Where one of `more` is neither a host name nor an address.
    """
    names = [name for name in map(_checked, more) if name]
    address = _address(bound)
    if bound and (address is None or not address.is_unspecified):
        return AllowedHosts((*LOCAL, bound.lower(), *names))
    own = socket.gethostname().lower()
    own_names = (own, f"{own}.local") if _NAME.fullmatch(own) else ()
    return AllowedHosts((*LOCAL, *own_names, *names), every_address=True)


def register(server: Flask, allowed: AllowedHosts) -> None:
    """Refuse every request with another Host header. One without it is no browser's."""

    @server.before_request
    def check_host() -> None:
        host = request.headers.get("Host")
        if host is not None and host not in allowed:
            abort(
                400,
                f"This server does not answer to the host {host[:80]!a}. If it is yours, start it with that name in "
                "ALLOWED_HOSTS=NAME,... (`make dashboard`) or --allowed-hosts.",
            )


def _checked(text: str) -> str:
    name = text.strip().lower()
    if name and _address(name) is None and not _NAME.fullmatch(name):
        raise ValueError(f"ALLOWED_HOSTS={text} is no host name. Give names without http:// and port, split by commas.")
    return name


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address of a Host header or without a port; None where it is a name."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host
    try:
        return ip_address(name.partition(":")[0] if name.count(":") == 1 else name)
    except ValueError:
        return None
