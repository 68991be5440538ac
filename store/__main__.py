"""`python -m store describe | verify | expire STORE`: what is in a store, whether it is sound, and forgetting old snapshots."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import timedelta

from icechunk import IcechunkError

from store.description import as_json, as_text, describe
from store.errors import StoreError, StoreIncomplete, StoreNotFound
from store.repository import expire, interruption
from store.snapshot import open_snapshot
from store.verification import verify

#: Exit status where nothing has been ingested yet.
NOTHING_YET = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 fine, 1 with a sentence on what is wrong and what to do next, 3 where there is nothing yet."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except IcechunkError as error:
        return _ended(interruption(error))
    except StoreError as error:
        return _ended(str(error), NOTHING_YET if isinstance(error, (StoreNotFound, StoreIncomplete)) else 1)


def _ended(said: str, status: int = 1) -> int:
    print(f"store: {said}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m store", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, run, explanation in (
        ("describe", _describe, "models, corpora, tokens, stages, snapshot, bytes, provenance"),
        ("verify", _verify, "read everything, recompute a sample, name what is corrupt"),
        ("expire", _expire, "forget what was superseded long ago, and free its disk space"),
    ):
        command = commands.add_parser(name, help=explanation, description=explanation)
        command.add_argument("store", help="folder, s3://bucket/prefix or gs://bucket/prefix")
        command.set_defaults(run=run)
        if name != "expire":
            command.add_argument("--snapshot", help="an older publication; default: what readers see now")
        if name == "describe":
            command.add_argument("--json", action="store_true", help="as JSON")
        if name == "expire":
            command.add_argument(
                "--days",
                type=_days,
                default=7,
                help="keep what a reader opened within so many days may be reading (default 7)",
            )
    return parser


def _days(text: str) -> float:
    days = float(text)
    if not 0 <= days < 36500:
        raise ValueError(text)
    return days


def _describe(options: argparse.Namespace) -> int:
    description = describe(open_snapshot(options.store, options.snapshot))
    print(json.dumps(as_json(description), indent=2) if options.json else as_text(description))
    return 0


def _verify(options: argparse.Namespace) -> int:
    snapshot = open_snapshot(options.store, options.snapshot)
    findings = list(verify(snapshot))
    for finding in findings:
        print(finding)
    if findings:
        print(
            f"store: {len(findings)} findings in {options.store}. Ingest again into another place, or open an older snapshot.",
            file=sys.stderr,
        )
        return 1
    print(
        f"{options.store} is sound: every array of snapshot {snapshot.id} was read, a sample of every model recomputed."
    )
    return 0


def _expire(options: argparse.Namespace) -> int:
    snapshots, freed = expire(options.store, timedelta(days=options.days))
    print(
        f"Forgot {snapshots} snapshots of {options.store} superseded more than {options.days:g} days ago; {freed / 1e6:,.1f} MB freed."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
