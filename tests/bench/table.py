"""Tables of figures, each with the machine and the commit that it was measured on."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: A hyphen before a number: the docs have a real minus (U+2212) instead.
_MINUS = re.compile(r"(?<![\w.`-])-(?=\d)")


@cache
def machine() -> str:
    """Machine, versions and commit of the benchmark, in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, torch {version('torch')}, {platform.system()}"
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {_gpu()}{versions}, commit {_commit()}"


def _gpu() -> str:
    """The GPU of a benchmark that runs a model, if there is one."""
    torch = sys.modules.get("torch")
    return f"{torch.cuda.get_device_name()}, " if torch is not None and torch.cuda.is_available() else ""


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def _commit() -> str:
    """First digits of the commit, with a mark where files have been changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table, and the machine that it was measured on."""
    print(f"\n### {title}\n", flush=True)
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(_MINUS.sub("−", str(cell)) for cell in row) + " |", flush=True)
    print(f"\n{machine()}", flush=True)
