"""`headscape describe | verify | mend | expire STORE`: what is in a store, whether it is sound, mending, deleting old snapshots."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import timedelta

from icechunk import IcechunkError

from store.describe import as_json, as_text, describe
from store.errors import StoreCorrupt, StoreError, StoreIncomplete, StoreNotFound
from store.piped import until_nobody_reads
from store.repository.access import interruption
from store.repository.history import expire
from store.repository.mend import mend
from store.repository.zarr_internals import is_damage
from store.snapshot import open_snapshot
from store.verify import unprotected, verify, wrong_files
from store.wording import many

#: Exit status where nothing has been ingested yet.
NOTHING_YET = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 fine, 1 with a sentence on what is wrong and what to do next, 3 where there is nothing yet."""
    return until_nobody_reads(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except IcechunkError as error:
        return _ended(interruption(error))
    except StoreError as error:
        return _ended(str(error), NOTHING_YET if isinstance(error, (StoreNotFound, StoreIncomplete)) else 1)
    except Exception as error:
        if not is_damage(error):
            raise
        return _ended(
            f"A part of {options.store} is damaged. Run `make verify STORE={options.store}` to list the damage."
        )


def _ended(said: str, status: int = 1) -> int:
    print(f"store: {said}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headscape", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, run, explanation in (
        ("describe", _describe, "models, corpora, tokens, stages, snapshot, bytes, provenance"),
        ("verify", _verify, "check every file, read every array, recompute a sample, name what is corrupt"),
        ("mend", _mend, "where a branch is lost or damaged, return to the newest publication that can be read"),
        ("expire", _expire, "forget what was superseded long ago, and free its disk space"),
    ):
        command = commands.add_parser(name, help=explanation, description=explanation)
        command.add_argument("store", help="folder, s3://bucket/prefix or gs://bucket/prefix")
        command.set_defaults(run=run)
        if name in ("describe", "verify"):
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
    files = list(wrong_files(options.store))
    try:
        snapshot = open_snapshot(options.store, options.snapshot)
        findings = [*files, *verify(snapshot)]
    except StoreCorrupt:
        if not files:
            raise
        return _found(options.store, files)
    if findings:
        return _found(options.store, findings)
    print(
        f"{options.store} is sound: every array of snapshot {snapshot.id} was read, a sample of every model recomputed."
    )
    print(unprotected(snapshot) or "Every array carries checksums.")
    return 0


def _found(store: str, findings: list[str]) -> int:
    """Print the findings and what to do about them."""
    for finding in findings:
        print(finding)
    count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
    if any(finding.startswith(("refs/", "snapshots/")) for finding in findings):
        return _ended(f"{count} in {store}. Run `make mend STORE={store}`, then `make verify STORE={store}` again.")
    return _ended(f"{count} in {store}. Ingest again into another place, or open an older snapshot.")


def _mend(options: argparse.Namespace) -> int:
    done = mend(options.store)
    for sentence in done or ["Both branches name snapshots that can be read. There is nothing to mend."]:
        print(sentence)
    return 0


def _expire(options: argparse.Namespace) -> int:
    snapshots, freed = expire(options.store, timedelta(days=options.days))
    print(
        f"Forgot {many(snapshots, 'snapshot')} of {options.store} superseded more than {options.days:g} days ago; {freed / 1e6:,.1f} MB freed."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
