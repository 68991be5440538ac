"""The tile of the launcher of JupyterLab and JupyterHub: what jupyter-server-proxy starts, and serves under `/headscape/`.

The server listens on a unix socket in a folder of the user alone, which jupyter-server-proxy makes: of the others on a machine
nobody reaches it. Jupyter says who may come in, and under which names it answers. Imports nothing slow: Jupyter loads it at its start.
"""

import os
import sys
from pathlib import Path

#: Variable of the environment that names the store: a folder, or an address of object storage.
STORE = "HEADSCAPE_STORE"
#: Seconds until the first answer: a server imports for some, on a busy machine for many.
PATIENCE = 120.0
ICON = Path(__file__).with_name("icon.svg")


def launcher() -> dict[str, object]:
    """What jupyter-server-proxy asks of the entry point `headscape` of the group `jupyter_serverproxy_servers`."""
    return {
        "command": command,
        "unix_socket": True,
        "absolute_url": True,  # the path is passed on whole, as the prefix of the server expects it
        "timeout": PATIENCE,
        "launcher_entry": {"title": "Headscape", "icon_path": str(ICON)},
    }


def command(base_url: str, unix_socket: str) -> list[str]:
    """The command that serves the store to its user, under the path of Jupyter that ends in the name of the entry point.

    Raises
    ------
    tornado.web.HTTPError
        Where there is no store; its sentence is the page that opens in place of the pages.
    """
    store = os.environ.get(STORE, "data/headscape")
    folder = Path(os.path.expanduser(store))  # as a store is opened; a user that is not there stays as written
    if "://" not in store and not folder.exists():
        from tornado.web import HTTPError  # Jupyter runs on it

        sentence = "There is no store at %s. Run `headscape ingest --store=FOLDER`, and start Jupyter with %s=FOLDER."
        raise HTTPError(503, sentence, folder.absolute(), STORE)
    address = [f"--host=unix:{unix_socket}", f"--prefix={base_url}headscape", "--allowed-hosts=*"]
    return [sys.executable, "-m", "headscape", "serve", f"--store={store}", *address]
