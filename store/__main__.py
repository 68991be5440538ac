"""`headscape describe | verify | mend | expire --store=STORE`: list the contents of a store, check it, repair it, delete old snapshots."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from icechunk import IcechunkError

from store.describe import as_json, as_text, describe
from store.mend import mend
from store.phrases import many
from store.process import end, until_pipe_closes
from store.repository.access import interruption
from store.repository.errors import StoreCorrupt, StoreError, StoreIncomplete, StoreNotFound
from store.repository.files import is_full
from store.repository.history import expire
from store.repository.zarr_internals import is_damage
from store.snapshot import open_snapshot
from store.verify import unprotected, verify, wrong_files

#: Exit status where nothing has been ingested yet.
NOTHING_YET = 3
#: Default folder of a store.
STORE = "data/headscape"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Exit status: 0 success, 1 an error with a message on what to do, 3 nothing ingested yet."""
    return until_pipe_closes(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    options = _parse(arguments)
    try:
        return int(options.run(options))
    except IcechunkError as error:
        return _fail(interruption(error))
    except StoreError as error:
        return _fail(str(error), NOTHING_YET if isinstance(error, (StoreNotFound, StoreIncomplete)) else 1)
    except Exception as error:
        if isinstance(error, OSError) and is_full(error):
            return _fail(f"The disk of {options.store} is full. Free some space and run the same command again.")
        if not is_damage(error):
            raise
        return _fail(
            f"A part of {options.store} is damaged. Run `headscape verify --store={options.store}` to list the damage."
        )


def _fail(message: str, status: int = 1) -> int:
    print(f"store: {message}", file=sys.stderr)
    return status


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command; the store may be named with the flag, as in every command, or without."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.place is not None and options.store is not None:
        parser.error("Give the store once: --store=STORE.")
    options.store = next(place for place in (options.store, options.place, STORE) if place is not None)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headscape", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, run, explanation in (
        (
            "describe",
            _describe,
            "list models, corpora, tokens, pictures, size and history; with --json also the settings of each ingest",
        ),
        ("verify", _verify, "check every file, read every array, recompute a sample, and list what is damaged"),
        ("mend", _mend, "repair lost or damaged branches"),
        ("expire", _expire, "delete old snapshots and free their disk space"),
    ):
        command = commands.add_parser(name, help=explanation, description=explanation)
        command.add_argument("place", nargs="?", metavar="STORE", help="the same as --store=STORE")
        command.add_argument("--store", help=f"folder, s3://bucket/prefix or gs://bucket/prefix (default {STORE})")
        command.set_defaults(run=run)
        if name in ("describe", "verify"):
            command.add_argument("--snapshot", help="id of an older snapshot (default: the current one)")
        if name == "describe":
            command.add_argument(
                "--json", action="store_true", help="print JSON, with the settings and versions of each ingest"
            )
        if name == "expire":
            command.add_argument(
                "--days",
                type=_days,
                default=7,
                help="delete snapshots that were replaced more than so many days ago (default 7)",
            )
    return parser


def _days(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (days := float(text)) < 36500:
            return days
    raise argparse.ArgumentTypeError(f"{text} is no number of days. Give one, such as 7.")


def _describe(options: argparse.Namespace) -> int:
    description = describe(open_snapshot(options.store, options.snapshot))
    print(json.dumps(as_json(description), indent=2) if options.json else as_text(description))
    return 0


def _verify(options: argparse.Namespace) -> int:
    files = list(wrong_files(options.store))
    try:
        snapshot = open_snapshot(options.store, options.snapshot)
        findings = [*files, *verify(snapshot)]
    except StoreCorrupt:
        if not files:
            raise
        return _report(options.store, files)
    if findings:
        return _report(options.store, findings)
    print(
        f"{options.store} is sound: every array of snapshot {snapshot.id} was read, and a sample of every model recomputed."
    )
    print(unprotected(snapshot) or "Every array carries checksums.")
    return 0


def _report(store: str, findings: list[str]) -> int:
    """Print the findings and what to do."""
    for finding in findings:
        print(finding)
    count = many(len(findings), "finding")
    if any(finding.startswith(("refs/", "snapshots/", "The file `")) for finding in findings):
        return _fail(
            f"{count} in {store}. Run `headscape mend --store={store}`, then `headscape verify --store={store}` again."
        )
    return _fail(f"{count} in {store}. Ingest again into another place, or open an older snapshot.")


def _mend(options: argparse.Namespace) -> int:
    repairs = mend(options.store)
    for repair in repairs or ["Nothing to mend: both branches name snapshots that can be read."]:
        print(repair)
    return 0


def _expire(options: argparse.Namespace) -> int:
    snapshots, freed = expire(options.store, timedelta(days=options.days))
    print(
        f"Deleted {many(snapshots, 'snapshot')} of {options.store} replaced more than {options.days:g} days ago; {freed / 1e6:,.1f} MB freed."
    )
    return 0


if __name__ == "__main__":
    end(main())
