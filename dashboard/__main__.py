"""`python -m dashboard`: serve a store, after an ingest where there is none and one was asked for."""

import argparse
import socket
import subprocess
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 stopped, 1 with one sentence on what to do next."""
    options = _parser().parse_args(arguments)
    if not _port_is_free(options.host, options.port):
        return _fail(f"Port {options.port} of {options.host} is taken or not to be had. Give another with PORT=...")
    # In a process of its own: the server forks, and icechunk's threads do not survive that.
    found = _describe(options.store)
    if found.returncode and options.ingest and "`make ingest" in found.stderr:
        print(f"No store at {options.store} yet: ingesting first.", flush=True)
        if status := subprocess.run([sys.executable, "-m", "ingest", "--store", options.store], check=False).returncode:
            return status
        found = _describe(options.store)
    if found.returncode:
        return _fail(found.stderr.strip().removeprefix("store: "))
    return _serve(options)


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


def _serve(options: argparse.Namespace) -> int:
    from dashboard.server import Server

    print(f"Headscape serves {options.store} on http://{options.host}:{options.port} (Ctrl-C stops it).", flush=True)
    Server(options.store, host=options.host, port=options.port).run()
    return 0


def _fail(sentence: str) -> int:
    print(f"dashboard: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
