"""Where the server listens: a port of an address, or a unix socket, such as `unix:/run/headscape/headscape.sock`."""

import os
import socket
import stat
from pathlib import Path

from dashboard.web.addresses import UNIX_PREFIX

#: Bytes of the path of a unix socket (unix(7)).
LONGEST_PATH = 107


def socket_path(host: str) -> Path | None:
    """The path of a unix socket; None where the host is an address."""
    return Path(host.removeprefix(UNIX_PREFIX)) if host.startswith(UNIX_PREFIX) else None


def bind_of(host: str, port: int) -> str:
    """What gunicorn binds: host and port as in a URL, where an IPv6 address is in brackets, or the unix socket."""
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
    except (OSError, OverflowError) as error:
        raise ValueError(f"Port {port} of {host} is not available. Choose another one with --port=...") from error


def _check_path(path: Path) -> None:
    """A socket that nobody listens on is a server's that was killed: gunicorn replaces it."""
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
        except OSError:  # another user's
            return True
    return True
