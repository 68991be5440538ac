"""The launcher tile of JupyterLab and JupyterHub: the server that jupyter-server-proxy starts and serves under `/headscape/`.

The server listens on a unix socket in a folder of the user alone, which jupyter-server-proxy makes: other users of the machine cannot
reach it. Jupyter decides who may come in, and under which host names it answers. Imports nothing slow: Jupyter loads it at its start.
"""

import os
import sys
from pathlib import Path

#: Variable of the environment that names the store: a folder, or an address of object storage.
STORE = "HEADSCAPE_STORE"
#: Longest wait in seconds for the first answer: imports take some seconds, on a busy machine many.
PATIENCE = 120.0
ICON = Path(__file__).with_name("icon.svg")


def launcher() -> dict[str, object]:
    """Settings for jupyter-server-proxy, from the entry point `headscape` of the group `jupyter_serverproxy_servers`."""
    return {
        "command": command,
        "unix_socket": True,
        "absolute_url": True,  # pass the whole path on, which contains the server's prefix
        "timeout": PATIENCE,
        "launcher_entry": {"title": "Headscape", "icon_path": str(ICON)},
    }


def command(base_url: str, unix_socket: str) -> list[str]:
    """The command that serves the store to its user, under Jupyter's path with the name of the entry point at its end.

    Raises
    ------
    tornado.web.HTTPError
        Where there is no store; its sentence opens in place of the dashboard.
    """
    store = os.environ.get(STORE, "data/headscape")
    folder = Path(os.path.expanduser(store))  # as when a store is opened; an unknown user stays as written
    if "://" not in store and not folder.exists():
        from tornado.web import HTTPError  # Jupyter runs on it

        sentence = "There is no store at %s. Run `headscape ingest --store=FOLDER`, and start Jupyter with %s=FOLDER."
        raise HTTPError(503, sentence, folder.absolute(), STORE)
    address = [f"--host=unix:{unix_socket}", f"--prefix={base_url}headscape", "--allowed-hosts=*"]
    return [sys.executable, "-m", "headscape", "serve", f"--store={store}", *address]
