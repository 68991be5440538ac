"""Environments of the peers, outside the repository, and the files that their pages fetch from a content delivery network."""

import subprocess
import tarfile
import tempfile
from pathlib import Path

CACHE = Path.home() / ".cache" / "headscape-bench"

#: torch comes first and with its version, which is a small build for processors where an index has one.
#: Inspectus imports IPython and does not declare it.
PACKAGES = {
    "bertviz": ("torch==2.13.0", "bertviz==1.4.1"),
    "inspectus": ("ipython==9.18.1", "inspectus==0.2.0"),
    "circuitsvis": ("torch==2.13.0", "circuitsvis==1.43.3"),
}

#: Files that BertViz's pages request, and their places in npm. npm has no jQuery 2.0.0; 2.1.0 has the same size to a kilobyte.
#: npm's require.js is not minified: it has 86 kB, the minified file 18 kB.
CDNJS = "https://cdnjs.cloudflare.com/ajax/libs"
FILES = {
    f"{CDNJS}/require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "package/require.js"),
    f"{CDNJS}/d3/5.7.0/d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
    f"{CDNJS}/jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "package/dist/jquery.min.js"),
}


def python_of(peer: str) -> Path:
    """The peer's Python; installs the peer first where it is missing."""
    place = CACHE / peer
    done = place / "installed"
    if not done.exists():
        subprocess.run(["python3", "-m", "venv", place], check=True)
        for package in PACKAGES[peer]:
            subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", package], check=True)
        done.touch()
    return place / "bin" / "python"


def delivered() -> dict[str, bytes]:
    """Content that the delivery network would send, by address."""
    with tempfile.TemporaryDirectory() as folder:
        return {address: _from_npm(package, path, folder) for address, (package, path) in FILES.items()}


def _from_npm(package: str, path: str, folder: str) -> bytes:
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    )
    with tarfile.open(Path(folder) / packed.stdout.split()[-1]) as archive:
        file = archive.extractfile(path)
        if file is None:
            raise FileNotFoundError(f"{package} has no {path}")
        return file.read()
