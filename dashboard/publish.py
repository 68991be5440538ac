"""`headscape publish STORE --out=site`: a store as a folder of pages that any web server shows."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from store.process import check_extra, end
from store.repository.errors import StoreError
from store.repository.files import is_full
from store.repository.zarr_internals import is_damage

if TYPE_CHECKING:
    from dashboard.published.folder import SiteFolder
    from dashboard.published.site import Options

STORE, OUT = "data/headscape", "site"
INTERRUPTED = "Interrupted; what was there is as it was. Run the same command again."
#: Columns of the progress line, and seconds between two lines where no terminal shows them.
LINE, QUIET_SECONDS = 78, 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status, see `run_writing`."""
    return run_writing("publish", _parser(), arguments, _publish)


def run_writing(
    command: str,
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    write: Callable[[str, Path, argparse.Namespace], str],
) -> int:
    """Write a folder from a store and print what it holds; returns the exit status, see `exit_status`."""
    from ingest.run.process import exit_status, follow_parent

    follow_parent(os.environ)
    options = parser.parse_args(arguments)
    return exit_status(partial(_write, options, write), name=command, interrupted=INTERRUPTED)


def _write(options: argparse.Namespace, write: Callable[[str, Path, argparse.Namespace], str]) -> None:
    from icechunk import IcechunkError

    store = options.store or options.place or STORE
    try:
        print(write(store, Path(options.out), options))
    except (StoreError, IcechunkError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and is_full(error):
            problem = f"The disk of {options.out} is full. Free some space and run the same command again."
        elif isinstance(error, PermissionError):
            problem = f"{options.out} cannot be written. Give another folder with --out."
        elif is_damage(error):
            problem = f"A part of {store} is damaged. Run `headscape verify --store={store}` to list the damage."
        else:
            raise
        raise StoreError(problem) from error


def _publish(store: str, place: Path, options: argparse.Namespace) -> str:
    """Write the site; returns a sentence on what it holds."""
    check_extra("dashboard")
    check_extra("notebook")  # a published sentence is drawn as a widget draws it
    from dashboard.app import create_app
    from dashboard.notes.address import notes_address
    from dashboard.published.folder import check_place, new_site
    from dashboard.published.pages import publish_store
    from dashboard.serving import Serving
    from dashboard.web.served_store import ServedStore

    check_place(place)
    served = ServedStore(store)
    server = create_app(served, Serving(notes=notes_address("none", store))).server
    about = {"snapshot": served.newest, "models": list(served.snapshot().models)}
    with new_site(place, about) as site:
        served.cache.run(publish_store, served, server, site, _options(options), Telling())
        return _said(site, place)


def _options(options: argparse.Namespace) -> "Options":
    from dashboard.published.site import Options

    licences = {"model": options.model_licence, "data": options.data_licence}
    return Options(
        text=not options.no_text,
        tokens=options.tokens,
        sentences=options.sentences,
        url=options.url and f"{options.url.rstrip('/')}/",
        licences={what: licence for what, licence in licences.items() if licence},
    )


def _said(site: "SiteFolder", place: Path) -> str:
    sizes = site.sizes
    pages = sum(path.endswith(".html") for path in sizes)
    return (
        f"{place}: {pages:,} pages, {sum(sizes.values()) / 1e6:.1f} MB. "
        f"Look at it with `python -m http.server --directory {place}`, or copy it to any web server."
    )


class Telling:
    """Prints progress and remaining time: on one line of a terminal, else every `QUIET_SECONDS`."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()

    def __call__(self, title: str, done: int, steps: int) -> None:
        """Report `done` of `steps` steps."""
        from dashboard.ui.work import Progress

        now = time.monotonic()
        line = Progress(title, done / steps, now - self._began).sentence
        if sys.stderr.isatty():
            print(f"\r{line}".ljust(LINE), end="\n" if done == steps else "", file=sys.stderr, flush=True)
        elif now - self._told > QUIET_SECONDS:
            self._told = now
            print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headscape publish", description="Write a store as a folder of pages, which any web server shows."
    )
    parser.add_argument("place", nargs="?", metavar="STORE", help="the same as --store=STORE")
    parser.add_argument("--store", help=f"folder, s3://bucket/prefix or gs://bucket/prefix (default {STORE})")
    parser.add_argument("--out", default=OUT, metavar="FOLDER", help=f"where the pages go (default {OUT})")
    parser.add_argument(
        "--no-text",
        action="store_true",
        help="leave out every sentence and wordpiece of a corpus that must stay private",
    )
    parser.add_argument(
        "--url", type=_address, default="", help="address that the site will have: link previews need it"
    )
    parser.add_argument(
        "--tokens", type=count, default=6_000, metavar="N", help="tokens drawn of a head (default 6000)"
    )
    parser.add_argument("--sentences", type=count, default=36, metavar="N", help="sentences with a page (default 36)")
    parser.add_argument("--model-licence", default="", metavar="TEXT", help="licence of the model, named on every page")
    parser.add_argument("--data-licence", default="", metavar="TEXT", help="licence of the data, named on every page")
    return parser


def count(text: str) -> int:
    """Whole number of a flag, at least 1. ArgumentTypeError below 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def _address(text: str) -> str:
    """The address of a site, or an empty text; ArgumentTypeError for others, which a browser would look up below each page."""
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.netloc):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address of a site. Give one such as https://example.org/heads"
        )
    return text


if __name__ == "__main__":
    end(main())
