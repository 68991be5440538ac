"""The production server: gunicorn's processes, waitress' event loop and threads in each, the store opened after the fork."""

from typing import Any

from gunicorn.app.base import BaseApplication

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.encoder_process import RemoteEncoder
from dashboard.web import log as counting_handler
from dashboard.web.connections import BufferingWorker
from dashboard.web.library import Library
from dashboard.web.processes import ServerFolder, return_freed_memory
from dashboard.web.security import AllowedHosts

WORKERS = 2
#: Of each worker: more than may wait for a turn, so that everybody else is still answered.
THREADS = 16
#: Seconds that a stopped worker has for the answers it has begun.
GRACE = 10


def address_of(host: str, port: int) -> str:
    """As in a URL, where the colons of an address of IPv6 stand in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn on one store. icechunk's threads do not survive a fork, so nothing is opened before it."""

    def __init__(self, store: str, address: str, folder: ServerFolder, allowed: AllowedHosts) -> None:
        self.store = store
        self.folder = folder
        self.allowed = allowed
        self.address = address
        super().__init__()

    def load_config(self) -> None:
        """Settings of gunicorn."""
        settings = {
            "bind": self.address,
            "workers": WORKERS,
            "threads": THREADS,
            "worker_class": BufferingWorker,
            "control_socket_disable": True,
            "loglevel": "warning",
            "timeout": 60,
            "graceful_timeout": GRACE,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The WSGI application of a worker."""
        counting_handler.configure()
        return_freed_memory()
        encoder = RemoteEncoder(self.folder)
        library = Library(self.store, self.folder.path)
        library.put(TypedSentences, TypedSentences(encoder))
        return create_app(library, self.allowed).server
