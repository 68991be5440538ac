"""The server as docs/serving/ starts it, behind nginx and Caddy with the files of that folder: paths and ports alone are
replaced."""

import os
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.access import write_users
from tests.made_once import made_once
from tests.treebanks import write_treebank

SERVING = Path(__file__).parents[1] / "docs" / "serving"
UNIT = SERVING / "headscape.service"
#: Host name, socket and store in the files of docs/serving/, which tests replace.
NAME, SOCKET, STORE = "heads.example.org", "/run/headscape/headscape.sock", "/var/lib/headscape/store"
STATE = "/var/lib/headscape/access"
COMMAND = "/opt/headscape/.venv/bin/headscape"
PREFIX = "/heads"
SECONDS = 60


def replaced(text: str, replacements: Mapping[str, str]) -> str:
    """A text with each key replaced by its value; the text must have every key."""
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    return text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    """A process that ends with the context."""
    with subprocess.Popen(command, env=os.environ | environment) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(SECONDS)


@pytest.fixture(scope="module")
def team_store(
    bank_store: str, ingest: Callable[..., str], second_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A store of two models on one treebank, with something to show on every page."""
    place = tmp_path_factory.mktemp("team") / "store"
    shutil.copytree(bank_store, place)
    bank = made_once(tmp_path_factory, "bank.conllu", write_treebank)
    return ingest(place, model=second_model, data=bank, annotate="auto", features="pca-joint,pca-each", reviews="none")


@pytest.fixture(scope="module")
def team_socket(team_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Path of the socket of a server that the unit's command started, once the server has told systemd that it is ready."""
    folder = tmp_path_factory.mktemp("run")
    unit = RawConfigParser(strict=False)
    unit.read(UNIT)
    state = folder / "access"
    state.mkdir()
    write_users(state / "users.json", ada="author")
    paths = {
        COMMAND: f"{sys.executable} -m headscape",
        STORE: team_store,
        SOCKET: str(folder / "http"),
        STATE: str(state),
    }
    command = shlex.split(replaced(unit["Service"]["ExecStart"], paths))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(folder / "notify"))
        systemd.settimeout(SECONDS)
        with running(command, {"NOTIFY_SOCKET": str(folder / "notify")}):
            assert systemd.recv(100).startswith(b"READY=1")
            yield str(folder / "http")


@contextmanager
def behind_nginx(server: str, folder: Path) -> Iterator[str]:
    http, https = free_port(), free_port()
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    sign = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    subprocess.run([*sign.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    changes = {
        SOCKET: server,
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ": f"listen 127.0.0.1:{https} ",
        "/etc/ssl/certs/heads.example.org.pem": str(certificate),
        "/etc/ssl/private/heads.example.org.key": str(key),
    }
    site, main = folder / "site.conf", folder / "nginx.conf"
    site.write_text(replaced((SERVING / "nginx.conf").read_text("utf-8"), changes))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    own = "" if os.geteuid() else "user root; "  # its processes enter the test's folders
    main.write_text(
        f"{own}daemon off; worker_processes 1; pid {folder / 'pid'}; events {{}}"
        f"http {{ access_log off; {temporary} include {site}; }}"
    )
    with running(["nginx", "-c", str(main), "-e", str(folder / "log")], {}):
        yield f"https://localhost:{https}"


@contextmanager
def behind_caddy(server: str, folder: Path) -> Iterator[str]:
    port = free_port()
    site, main = folder / "site", folder / "Caddyfile"
    changes = {SOCKET: server, f"{NAME} {{": f"localhost:{port} {{"}  # Caddy signs a certificate of this name itself
    site.write_text(replaced((SERVING / "Caddyfile").read_text("utf-8"), changes))
    alone = "admin off\nskip_install_trust\nauto_https disable_redirects\nlog {\nlevel ERROR\n}"
    main.write_text(f"{{\n{alone}\n}}\nimport {site}\n")
    home = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with running(["caddy", "run", "--adapter", "caddyfile", "--config", str(main)], home):
        yield f"https://localhost:{port}"


PROXIES = {"nginx": behind_nginx, "caddy": behind_caddy}


@pytest.fixture(scope="module", params=PROXIES)
def proxied(
    request: pytest.FixtureRequest, team_socket: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a proxy with the prefix, where readers find the server; one proxy of each kind."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is missing; install Debian's package {request.param}")
    with PROXIES[request.param](team_socket, tmp_path_factory.mktemp(request.param)) as origin:
        _wait_for(int(origin.rpartition(":")[2]))
        yield origin + PREFIX


def unverified() -> ssl.SSLContext:
    """A TLS context that accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _wait_for(port: int) -> None:
    """Wait until a proxy answers by TLS: Caddy listens before it has its certificate."""
    for _ in range(10 * SECONDS):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                unverified().wrap_socket(connection, server_hostname="localhost").close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(port)
