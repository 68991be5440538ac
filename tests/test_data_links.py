"""The version of the data routes: browsers cache data for a year, so a changed format needs a new URL."""

import re
from pathlib import Path

from flask.testing import FlaskClient

from dashboard.web.http import FORMAT
from store import Corpus

DASHBOARD = Path(__file__).parents[1] / "dashboard"
#: The first letters of every binary message, by the version in its address.
LETTERS = {1: {"HSP3", "HSC2", "HSM2", "HSL1", "HST1"}}


def letters_in(*kinds: str) -> set[str]:
    """First letters of messages that occur in source files of these kinds."""
    sources = [path.read_text("utf-8") for kind in kinds for path in DASHBOARD.rglob(f"*.{kind}")]
    return {letters for source in sources for letters in re.findall(r"\bHS[A-Z]\d\b", source)}


def test_messages_and_the_version_in_their_address_change_together() -> None:
    changed = f"A message has changed: raise FORMAT in dashboard/web/http.py, and LETTERS here ({FORMAT})."
    assert letters_in("py") == LETTERS.get(FORMAT), changed


def test_scripts_read_the_messages_that_are_sent() -> None:
    assert letters_in("mjs") == letters_in("py")


def test_data_of_another_version_is_not_found(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    path = f"/{tiny_corpus.snapshot}/{tiny_corpus.name}"
    there, before = (client.get(f"/data{version}{path}/tokens.json") for version in (f"/{FORMAT}", ""))
    assert (there.status_code, before.status_code) == (200, 404)
    assert before.text.endswith("Reload the page.")
    assert base == f"/data/{FORMAT}{path}"
