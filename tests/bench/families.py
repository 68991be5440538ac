"""A tiny model of every family through the whole ingest, `verify`, and every page in a browser; faults are in the table."""

import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from store import open_snapshot
from store.verify import verify
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS, GOT_IT, serving
from tests.every_family import make_families, wrong_words
from tests.family_models import BY_TYPE


def families() -> int:
    """Print the table; returns 1 where a page of a family has an error or a wrong word."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = make_families(Path(folder) / "store", BY_TYPE)
        snapshot = open_snapshot(store)
        rows = [("verify", "; ".join(verify(snapshot)) or "nothing", "")]
        page = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS).new_page()
        page.add_init_script(GOT_IT)
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        with serving(store) as address:
            for key in snapshot.models:
                began, before = time.perf_counter(), len(errors)
                wrong = [*wrong_words(page, address, snapshot.corpus(key)), *errors[before:]]
                rows.append((key, "; ".join(wrong) or "nothing", f"{time.perf_counter() - began:.0f} s"))
    show("Every page of a tiny model of each family", ("model", "wrong", "time"), rows)
    return int(any(row[1] != "nothing" for row in rows))
