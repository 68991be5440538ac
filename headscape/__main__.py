"""The command `headscape`: every command of the product, from any folder.

Imports nothing slow: a process that fits pictures imports this file before it can follow the end of its parent.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from os.path import expanduser
from pathlib import Path
from typing import NoReturn

from headscape import check_packages

if __name__ == "__main__" and Path(sys.path[0]) != Path(__file__).parents[1] and not sys.flags.safe_path:
    del sys.path[0]  # a folder `store` in the working directory is not the package


@dataclass(frozen=True)
class Command:
    """A command: the module of its `main`, the arguments before the user's, and its description."""

    module: str
    arguments: tuple[str, ...]
    explanation: str


COMMANDS = {
    "ingest": Command("ingest.__main__", (), "run an encoder over a corpus and bring the store up to date"),
    "projections": Command("ingest.__main__", ("--stage", "projections"), "make more pictures of what a store holds"),
    "check-model": Command("ingest.model_check", (), "say whether an ingest can read a model, and what it costs"),
    "finetune": Command("ingest.finetuning.__main__", (), "teach a model the labels of reviews; the result is another"),
    "serve": Command("dashboard.__main__", (), "serve a store in the browser"),
    "mcp": Command("dashboard.programs.__main__", (), "answer language models' questions about a store"),
    "publish": Command("dashboard.publish", (), "write a store as pages that any web server shows"),
    "export": Command("dashboard.export", (), "write heads as files of HeadVis or of the package datasets"),
    "replace": Command(
        "dashboard.sentence.replace", (), "measure what changes where heads attend by rules, or are off"
    ),
    "users": Command("dashboard.access.__main__", (), "add, change and remove people who sign in with a password"),
    "notes": Command("dashboard.notes.__main__", (), "export or import the notes and saved views of a server"),
    "describe": Command("store.__main__", ("describe",), "list models, corpora, pictures, size and history of a store"),
    "verify": Command("store.__main__", ("verify",), "check every file and array of a store"),
    "mend": Command("store.__main__", ("mend",), "return a damaged store to its newest readable publication"),
    "expire": Command("store.__main__", ("expire",), "delete old snapshots of a store"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; returns its exit status, 2 for an unknown command."""
    name, *flags = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    if name == "--version":
        print(f"headscape {_version()}")
        return 0
    if name not in COMMANDS:
        print(f"headscape: There is no command {name!r}. Give one of {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    command = COMMANDS[name]
    try:
        check_packages("store", command.module.partition(".")[0])
    except ImportError as error:
        print(f"headscape: {error}", file=sys.stderr)
        return 1
    return int(import_module(command.module).main([*command.arguments, *map(_expanded, flags)]))


def _expanded(flag: str) -> str:
    """The flag with `~` replaced by the user's home: a shell leaves `~` in `--data=~/reviews.csv`."""
    name, equals, value = flag.partition("=")
    return f"{name}={expanduser(value)}" if equals and value.startswith("~") else flag


def run() -> NoReturn:
    """Run a command, and end the process. Characters that standard output cannot encode, as in folder names, are escaped."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    status = main()
    if "icechunk" in sys.modules:
        from store.process import end  # slow to import unless the command has imported it

        end(status)
    sys.exit(status)


def _usage() -> str:
    lines = [f"  {name:<12} {command.explanation}" for name, command in COMMANDS.items()]
    return "\n".join(
        ["usage: headscape COMMAND [FLAGS]", "", *lines, "", "headscape COMMAND --help lists the flags of a command."]
    )


def _version() -> str:
    try:
        return version("headscape")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    run()
