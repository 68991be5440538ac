"""`headscape notes export|import`: every note and saved view of a server as one JSON file, of any size."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and Path(sys.path[0]) != Path(__file__).parents[2] and not sys.flags.safe_path:
    del sys.path[0]  # a folder `store` where the command is run is not the package

from dashboard.access.private_file import PRIVATE
from store.process import check_extra, until_pipe_closes
from store.repository.errors import StoreError
from store.repository.files import replace_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 1 after a message on what to do next."""
    return until_pipe_closes(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        check_extra("dashboard")
        from dashboard.web.errors import Refusal

        try:
            return _export(options) if options.action == "export" else _import(options)
        except Refusal as refusal:
            return _fail(str(refusal))
    except (StoreError, ValueError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{options.file} cannot be read or written ({error.strerror}). Give another file.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headscape notes", description="Export or import notes and saved views.")
    parser.add_argument("action", choices=("export", "import"))
    parser.add_argument("file", help="JSON file to write or to read; - is standard output or input")
    parser.add_argument("--store", default="data/headscape", help="store whose notes they are (default data/headscape)")
    parser.add_argument(
        "--notes",
        default=os.environ.get("HEADSCAPE_NOTES", ""),
        metavar="PLACE",
        help="database of notes, as of `headscape serve` (default: the file beside the store, or HEADSCAPE_NOTES)",
    )
    return parser


def _export(options: argparse.Namespace) -> int:
    from dashboard.notes.address import notes_address
    from dashboard.notes.database import Database
    from dashboard.notes.exchange import export_notes

    address = notes_address(options.notes, options.store)
    if address.file and not address.file.exists():
        return _fail(f"{address.file} is not there. Name the store with --store=..., or the notes with --notes=...")
    content = export_notes(Database(address))
    if options.file == "-":
        sys.stdout.write(content.decode())
        return 0
    replace_file(Path(options.file), content, mode=PRIVATE)  # it names people
    return 0


def _import(options: argparse.Namespace) -> int:
    from dashboard.notes.address import notes_of_store
    from dashboard.notes.database import Database
    from dashboard.notes.exchange import import_notes

    content = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    database = Database(notes_of_store(options.notes, options.store))
    print(f"{import_notes(database, content)}.")
    return 0


def _fail(sentence: str) -> int:
    print(f"notes: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
