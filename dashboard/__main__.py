"""`python -m dashboard`: serve a store, after an ingest where there is none and one was asked for."""

import argparse
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

#: Seconds between two looks at what an ingest has published.
PAUSE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 stopped, 1 with one sentence on what to do next."""
    options = _parser().parse_args(arguments)
    if not _port_is_free(options.host, options.port):
        return _fail(f"Port {options.port} of {options.host} is taken or not to be had. Give another with PORT=...")
    # In a process of its own: the server forks, and icechunk's threads do not survive that.
    found, ingest = _describe(options.store), None
    if found.returncode and options.ingest and "`make ingest" in found.stderr:
        print(f"No store at {options.store} yet: ingesting first; serving starts with the first picture.", flush=True)
        ingest = subprocess.Popen([sys.executable, "-m", "ingest", "--store", options.store])
        found = _first_publication(ingest, options.store)
        if ingest.poll():
            return ingest.returncode
    if found.returncode:
        return _fail(found.stderr.strip().removeprefix("store: "))
    return _serve(options, ingest)


def _first_publication(ingest: subprocess.Popen[bytes], store: str) -> subprocess.CompletedProcess[str]:
    """Wait until there is something to show, or the ingest has ended."""
    while ingest.poll() is None and (found := _describe(store)).returncode:
        time.sleep(PAUSE)
    return found if ingest.poll() is None else _describe(store)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dashboard", description="Serve a store.")
    parser.add_argument(
        "--store",
        default="data/headscape",
        help="folder, s3://bucket/prefix or gs://bucket/prefix (default data/headscape)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine only)"
    )
    parser.add_argument("--port", type=int, default=8050, help="port to listen on (default 8050)")
    parser.add_argument("--ingest", action="store_true", help="ingest the default corpus first where there is no store")
    return parser


def _port_is_free(host: str, port: int) -> bool:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError):
        return False
    return True


def _describe(store: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "store", "describe", store], check=False, capture_output=True, text=True
    )


def _serve(options: argparse.Namespace, ingest: subprocess.Popen[bytes] | None) -> int:
    """Until it is stopped; an ingest that still makes pictures is then stopped too, and goes on where it was next time."""
    from dashboard.server import Server

    print(f"Headscape serves {options.store} on http://{options.host}:{options.port} (Ctrl-C stops it).", flush=True)
    try:
        Server(options.store, host=options.host, port=options.port).run()
    finally:
        if ingest is not None and ingest.poll() is None:
            ingest.send_signal(signal.SIGINT)
            ingest.wait()
    return 0


def _fail(sentence: str) -> int:
    print(f"dashboard: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
