"""Firefox by its own protocol Marionette: JSON messages, each after its length. No driver is needed."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
#: Seconds until Firefox listens, and until a command is answered.
START, PATIENCE = 60, 120
#: Firefox asks the network for nothing but our server. WebGL2 runs in software, too.
PREFERENCES = {
    "marionette.port": 0,
    "webgl.force-enabled": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "extensions.update.enabled": False,
    "app.update.auto": False,
}


class Firefox:
    """A window of a running Firefox."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._stream = self._connection.makefile("rb")
        self._number = 0
        self._read()
        self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "normal"}}})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """Send a command; returns its result. Raises RuntimeError where Firefox refuses the command."""
        self._number += 1
        text = json.dumps([0, self._number, name, parameters])
        self._connection.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{name}: {error['message']}")
        return result

    def evaluate(self, script: str, *, of_browser: bool = False) -> Any:
        """The value of a function body, in the page or in the browser itself."""
        self.command("Marionette:SetContext", {"value": "chrome" if of_browser else "content"})
        return self.command("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def go(self, url: str) -> None:
        """Load a page."""
        self.command("Marionette:SetContext", {"value": "content"})
        self.command("WebDriver:Navigate", {"url": url})

    def _read(self) -> Any:
        digits = bytearray()
        while (digit := self._stream.read(1)) != b":":
            if not digit:
                raise RuntimeError("Firefox has ended.")
            digits += digit
        return json.loads(self._stream.read(int(digits)))


@contextmanager
def running() -> Iterator[Firefox]:
    """A headless Firefox with a profile of its own, for as long as the context lasts."""
    if FIREFOX is None:
        raise FileNotFoundError("Firefox is missing; install Debian's package firefox-esr.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items())
        Path(profile, "user.js").write_text("\n".join(lines))
        flags = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", profile]
        process = subprocess.Popen([FIREFOX, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Firefox(_port(Path(profile, "MarionetteActivePort")))
        finally:
            process.terminate()
            process.wait(60)


def _port(file: Path) -> int:
    """The port on which Firefox listens, from the file in its profile. TimeoutError where the file stays empty."""
    for _ in range(10 * START):
        if file.exists() and (text := file.read_text().strip()):
            return int(text)
        time.sleep(0.1)
    raise TimeoutError(f"Firefox did not listen within {START} seconds.")
