"""`make gallery STORE=...`: take the pictures of the gallery and write its page; with `--check`, compare both with the docs.

The exit status of `--check` is 1 where a figure or a picture differs.
"""

import argparse
import difflib
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import combinations

from PIL import Image
from playwright.sync_api import sync_playwright

from dashboard.publish import main as publish
from store import Corpus, StoreError, open_snapshot
from tests.bench.browser import production_server
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS
from tests.file_server import file_server
from tests.gallery.page import PAGE, page_of
from tests.gallery.pictures import MOST_DIFFERENT, difference, path_of, photograph, save
from tests.gallery.views import PUBLISHED, VIEWS

Pictures = dict[str, Image.Image]
#: Every picture of the docs.
NAMES = [*(view.name for view in VIEWS), PUBLISHED.name]


def main() -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="make gallery", description=__doc__)
    parser.add_argument("--store", default="data/headscape")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="*", default=NAMES, metavar="NAME")
    options = parser.parse_args()
    try:
        written = page_of(only_corpus(options.store))
    except StoreError as error:
        print(f"gallery: {error}", file=sys.stderr)
        return 1
    pictures = take(options.store, options.only)
    return compare(written, pictures) if options.check else write(written, pictures)


def only_corpus(store: str) -> Corpus:
    """The corpus of a store with one model, as `make ingest` makes it: links of the gallery name no model."""
    snapshot = open_snapshot(store)
    if len(snapshot.models) > 1:
        raise StoreError(f"{store} has {len(snapshot.models)} models. Give a store with one: make ingest STORE=...")
    return snapshot.corpus()


def take(store: str, names: Collection[str]) -> Pictures:
    """The pictures of views and of a published page, by name."""
    with sync_playwright() as playwright, production_server(store) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        pictures = {view.name: photograph(browser, address, view) for view in VIEWS if view.name in names}
        if PUBLISHED.name in names:
            with published_server(store) as site:
                pictures[PUBLISHED.name] = photograph(browser, site, PUBLISHED)
        return pictures


@contextmanager
def published_server(store: str) -> Iterator[str]:
    """The address of a file server with the published pages of a store."""
    with tempfile.TemporaryDirectory() as folder:
        if publish([store, f"--out={folder}/site", "--sentences=1"]):
            raise SystemExit(1)
        with file_server(f"{folder}/site") as address:
            yield address


def write(written: str, pictures: Pictures) -> int:
    """Write the page and its pictures."""
    PAGE.write_text(written, "utf-8")
    for name, picture in pictures.items():
        save(picture, path_of(name))
    size = sum(path_of(name).stat().st_size for name in pictures) / 1e6
    print(f"{PAGE.name} and {len(pictures)} pictures, {size:.2f} MB. Look at each before you commit it.")
    return 0


def compare(written: str, pictures: Pictures) -> int:
    """Print how far figures and pictures are from those of the docs; returns 1 where one differs."""
    of_docs = PAGE.read_text("utf-8").splitlines()
    changed = list(difflib.unified_diff(of_docs, written.splitlines(), "docs", "store", n=0, lineterm=""))
    print("\n".join(changed) or f"Every figure of {PAGE.name} is that of the store.")
    before = {name: Image.open(path_of(name)) for name in NAMES}
    differences = {name: difference(before[name], picture) for name, picture in pictures.items()}
    nearest = min(difference(*pair) for pair in combinations(before.values(), 2))
    show(
        f"Difference of pictures from docs/gallery (at most {MOST_DIFFERENT}; the two most alike of docs/gallery: {nearest:.4f})",
        ("picture", "difference"),
        [(name, f"{value:.4f}") for name, value in differences.items()],
    )
    return int(bool(changed) or max(differences.values()) > MOST_DIFFERENT)


if __name__ == "__main__":
    sys.exit(main())
