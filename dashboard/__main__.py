"""`headscape serve`: serve a store; with `--ingest` make it first where there is none."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__" and Path(sys.path[0]) != Path(__file__).parents[1] and not sys.flags.safe_path:
    del sys.path[0]  # a folder `store` in the working directory is not the package

from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import access_of, add_flags
from dashboard.web.addresses import bind_of, check_free, socket_path
from dashboard.web.processes import environment, own_module, workers_by_default
from store.__main__ import NOTHING_YET
from store.phrases import whole_number
from store.process import check_extra, end, until_pipe_closes
from store.repository.errors import StoreError

if TYPE_CHECKING:
    from dashboard.server import Server
    from dashboard.serving import Serving

#: Largest number of processes that answer requests.
MOST_WORKERS = 256
#: Seconds between two checks whether an ingest has published something.
PAUSE = 2


class Commands:
    """Commands that the server runs in processes of their own: the server forks, and icechunk's threads do not survive a fork."""

    def describe(self, store: str) -> subprocess.CompletedProcess[str]:
        """Description of a store, or the reason why it cannot be read."""
        command = own_module("store", "describe", "--store", store)
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment())

    def ingest(self, store: str) -> subprocess.Popen[bytes]:
        """Begin an ingest; it ends where this process is killed."""
        return subprocess.Popen(
            own_module("ingest", "--store", store), env=environment() | {"HEADSCAPE_PARENT": str(os.getpid())}
        )

    def wait(self) -> None:
        """Sleep until it is worth looking at the store again."""
        time.sleep(PAUSE)


def main(arguments: Sequence[str] | None = None, commands: Commands | None = None) -> int:
    """Serve until stopped: exit status 0, or 1 after a message on what to do next."""
    return until_pipe_closes(lambda: _run(arguments, commands or Commands()))


def _run(arguments: Sequence[str] | None, commands: Commands) -> int:
    options = _parser().parse_args(arguments)
    try:
        check_extra("dashboard")
    except StoreError as error:
        return _fail(str(error))
    try:
        check_free(options.host, options.port)
        serving = _serving(options)
        _check_access(serving)
    except (ValueError, AccessFileError, StoreError) as error:
        return _fail(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a service manager stops it as Ctrl-C does
    try:
        return _ingest_and_serve(options, serving, commands)
    except KeyboardInterrupt:
        return 0


def _ingest_and_serve(options: argparse.Namespace, serving: "Serving", commands: Commands) -> int:
    description = commands.describe(options.store)
    if options.ingest and description.returncode == NOTHING_YET:
        return _ingest_first(options, serving, commands)
    return _serve(options, serving) if description.returncode == 0 else _fail_as(description)


def _ingest_first(options: argparse.Namespace, serving: "Serving", commands: Commands) -> int:
    """Serve while the ingest goes on. When the server stops, the ingest stops too; the next start resumes it."""
    print(f"No store at {options.store} yet. Ingesting first; serving starts with the first picture.", flush=True)
    ingest = commands.ingest(options.store)
    try:
        description = _first_publication(ingest, options.store, commands)
        if ingest.poll():
            return ingest.returncode
        return _serve(options, serving) if description.returncode == 0 else _fail_as(description)
    finally:
        _end(ingest)


def _end(ingest: subprocess.Popen[bytes]) -> None:
    """Stop the ingest. Under nohup it does not get Ctrl-C; a second signal ends it at once."""
    ingest.terminate()
    ingest.wait()


def _first_publication(
    ingest: subprocess.Popen[bytes], store: str, commands: Commands
) -> subprocess.CompletedProcess[str]:
    """Wait until something is published, or the ingest has ended."""
    while ingest.poll() is None and (description := commands.describe(store)).returncode:
        commands.wait()
    return description if ingest.poll() is None else commands.describe(store)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headscape serve", description="Serve a store.")
    parser.add_argument(
        "--store",
        default="data/headscape",
        help="folder, s3://bucket/prefix or gs://bucket/prefix (default data/headscape)",
    )
    _add_address_flags(parser)
    _add_running_flags(parser)
    parser.add_argument("--ingest", action="store_true", help="ingest the default corpus first where there is no store")
    add_flags(parser)
    return parser


def _add_address_flags(parser: argparse.ArgumentParser) -> None:
    """Add flags of the address under which the server answers."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default 127.0.0.1: this machine only), or a unix socket, as unix:/run/headscape.sock",
    )
    parser.add_argument("--port", type=int, default=8050, help="port to listen on (default 8050)")
    parser.add_argument(
        "--allowed-hosts",
        default="",
        metavar="NAME,...",
        help="host names to answer to beside localhost and the address listened on; .example.org: all that end so; "
        "*, on a unix socket: all",
    )
    parser.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="path that addresses begin with, such as /team/heads; a proxy passes it on",
    )
    parser.add_argument(
        "--trusted-proxies",
        default="",
        metavar="ADDRESS,...",
        help="proxies whose X-Forwarded-For, -Proto and -Host count: addresses, networks, unix for a unix socket",
    )


def _add_running_flags(parser: argparse.ArgumentParser) -> None:
    """Add flags on how the server runs, what it logs and measures, and where notes are."""
    parser.add_argument(
        "--workers",
        default="",
        metavar="N",
        help="processes that answer (default: one for each core, at least 2, at most one for each 450 MB of memory)",
    )
    parser.add_argument(
        "--metrics-from",
        default="",
        metavar="ADDRESS,...",
        help="addresses and networks that may read /metrics without signing in (default: this machine, with --auth=none)",
    )
    parser.add_argument(
        "--access-log",
        default="",
        metavar="FILE",
        help="write each request as a JSON line to this file, or to standard output for - (default: off)",
    )
    parser.add_argument(
        "--notes",
        default=os.environ.get("HEADSCAPE_NOTES", ""),
        metavar="PLACE",
        help="where notes are: a file, postgresql://USER@HOST/NAME, or none (default: a file beside the store). "
        "The environment variable HEADSCAPE_NOTES does the same and is not seen in a list of processes",
    )
    parser.add_argument(
        "--headvis",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a tree of HeadVis whose heads page Models shows beside those of the store; may be given more than once",
    )


def _serve(options: argparse.Namespace, serving: "Serving", make: "type[Server] | None" = None) -> int:
    """Serve until stopped, by a `Server` unless another class makes it."""
    from dashboard.server import Server
    from dashboard.web.processes import server_folder

    address = bind_of(options.host, options.port)
    shown = f"{options.host}, path " if socket_path(options.host) else f"http://{address}"
    print(f"Serving {options.store} at {shown}{serving.prefix}/ (Ctrl-C stops it).", flush=True)
    if serving.allowed.every_address and not socket_path(options.host):
        print(
            f"It answers to every IP address and to {serving.allowed}. Add names with --allowed-hosts=NAME,...",
            flush=True,
        )
    with server_folder() as folder:
        try:
            (make or Server)(options.store, address, folder, serving).run()
        except SystemExit as stopped:  # gunicorn raises it, in this process and in a worker that could not start
            return int(stopped.code or 0)
    return 0


def _serving(options: argparse.Namespace) -> "Serving":
    from dashboard.models.trees import read_trees
    from dashboard.monitoring.logs import check_file
    from dashboard.notes.address import notes_address
    from dashboard.serving import Serving
    from dashboard.web.addresses import address_list
    from dashboard.web.paths import path_prefix
    from dashboard.web.security import allowed_hosts

    check_file(options.access_log)
    return Serving(
        allowed=allowed_hosts(options.host, options.allowed_hosts.split(",")),
        prefix=path_prefix(options.prefix),
        proxies=address_list(options.trusted_proxies.split(","), flag="--trusted-proxies"),
        access=access_of(options, os.environ),
        workers=_workers(options.workers),
        metrics_from=address_list(options.metrics_from.split(","), flag="--metrics-from")
        if options.metrics_from
        else None,
        access_log=options.access_log,
        notes=notes_address(options.notes, options.store),
        trees=read_trees(options.headvis),
    )


def _workers(text: str) -> int:
    if not text:
        return workers_by_default()
    workers = whole_number(text)
    if workers is None or not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"--workers={text[:80]} is not possible. Give a number from 1 to {MOST_WORKERS}.")
    return workers


def _check_access(serving: "Serving") -> None:
    from dashboard.access.users import check_files

    check_files(serving.access)


def _fail_as(description: subprocess.CompletedProcess[str]) -> int:
    return _fail(description.stderr.strip().removeprefix("store: "))


def _fail(sentence: str) -> int:
    print(f"dashboard: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    end(main())
