"""The production server: processes of gunicorn, each with an event loop and threads of waitress."""

from typing import Any

from gunicorn.app.base import BaseApplication

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.encoder_process import RemoteEncoder
from dashboard.serving import Serving
from dashboard.web import log as counting_handler
from dashboard.web.connections import BufferingWorker
from dashboard.web.library import Library
from dashboard.web.processes import ServerFolder, one_thread_per_product, return_freed_memory

WORKERS = 2
#: Threads of a worker: more than readers may wait in its queues, so that others are still answered.
THREADS = 20
#: Seconds that a stopped worker has to finish its answers.
GRACE = 10


def address_of(host: str, port: int) -> str:
    """Host and port as in a URL: an IPv6 address is in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn on one store, opened after the fork: the threads of icechunk do not survive one."""

    def __init__(self, store: str, address: str, folder: ServerFolder, serving: Serving) -> None:
        self.store = store
        self.folder = folder
        self.serving = serving
        self.address = address
        super().__init__()

    def load_config(self) -> None:
        """The settings of gunicorn."""
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
        one_thread_per_product()
        encoder = RemoteEncoder(self.folder)
        library = Library(self.store, self.folder.path)
        library.put(TypedSentences, TypedSentences(encoder))
        return create_app(library, self.serving).server
