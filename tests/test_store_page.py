"""Page Store: settings in words, the ingest under way, the history and the changes since a snapshot."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import expect

from dashboard.pages import TOPICS
from dashboard.store_page.contents import PLACES, command, many_cut, readable_settings
from dashboard.store_page.page import history_section
from dashboard.ui.markup import STORE, UNDER_WAY, stacked_table, under_way
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from ingest.run.settings import Settings
from store import open_snapshot
from store.describe import describe
from store.phrases import utc
from store.repository.history import history
from tests.accessibility import is_accessible
from tests.browser import Open, serving
from tests.test_waiting_pages import DuringAnIngest, running

DEFAULTS = asdict(Settings())
#: Every setting with a value that is not its default.
CHANGED: dict[str, object] = {
    **dict.fromkeys(("device", "dtype", "text", "label", "annotate", "probes", "points", "mixing"), "other"),
    **dict.fromkeys(("sentences", "tokens", "batch", "importance", "max_length", "seed", "neighbors", "min_dist"), 7),
    "reviews": "7",
    "sentence_split": "lines",
    "data_split": "test",
    "first": 7,
    "vectors": "all",
    "metric": "cosine",
    "views": "pca-raw-3d",
    "features": "pca-joint",
}


@pytest.fixture(scope="module")
def oldest(three: str) -> str:
    """Id of the first publication."""
    return history(open_snapshot(three).repository, three)[-1].snapshot


@pytest.fixture(scope="module")
def three_publications(three: str) -> Iterator[str]:
    with serving(three) as address:
        yield address


def shown(served_store: ServedStore, search: str = "") -> str:
    return str(TOPICS["store"].layout(resolve(served_store, "store", search)).above)


@pytest.mark.parametrize("name", sorted(DEFAULTS.keys() - {*PLACES, "stage", "split"}))
def test_every_setting_of_an_ingest_is_read_in_words(name: str) -> None:
    assert readable_settings(DEFAULTS | {name: CHANGED[name]}) != readable_settings(DEFAULTS)


def test_a_store_without_fingerprints_says_what_is_not_noticed(tiny_store: str, tmp_path: Path) -> None:
    copy = copytree(tiny_store, tmp_path / "store")
    assert "hold the bytes of one another" not in shown(ServedStore(str(copy)))
    (copy / "fingerprints").unlink()
    assert "hold the bytes of one another" in shown(ServedStore(str(copy)))


def test_settings_of_an_older_ingest_are_read_as_far_as_they_go() -> None:
    assert readable_settings({"seed": 3}) == {"sample": "seed 3"}


def test_what_the_ingest_chose_is_no_setting() -> None:
    assert "auto" not in str(readable_settings(DEFAULTS))


def test_a_command_repeats_the_settings_without_places() -> None:
    written = command(DEFAULTS | {"model": "/home/reader/bert", "max_length": 64})
    assert "--max-length=64" in written
    assert "--model" not in written


def test_a_shell_reads_a_command_as_its_settings_are() -> None:
    written = command({"text": "review text", "data_split": "train[:10%]; echo x"})
    assert shlex.split(written.replace("\\\n", "")) == [
        "headscape",
        "ingest",
        "--text=review text",
        "--data-split=train[:10%]; echo x",
    ]


def test_the_former_name_of_the_page_still_leads_to_it(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/about", "?layer=1")
    assert (context.state.href, context.notices) == ("/store?layer=1", ())


def test_a_running_ingest_shows_its_stage_and_the_time_left() -> None:
    state = str(under_way(running(), {UNDER_WAY: STORE}))
    assert re.search(r"pairs, 50%, about \d+ s left in this stage", state)


def test_a_page_says_that_no_ingest_runs(tiny_store: str) -> None:
    assert "No ingest is running." in shown(ServedStore(tiny_store))


def test_requested_pictures_that_are_not_made_are_listed_during_an_ingest(
    tiny_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served_store = DuringAnIngest(tiny_store)
    settings = served_store.snapshot().corpus().attributes["provenance"]["settings"]
    monkeypatch.setitem(settings, "views", f"{settings['views']},umap-raw-3d")
    page = shown(served_store)
    assert "1 requested picture to come." in page
    assert "umap-raw-3d." in page


def test_a_store_with_one_snapshot_says_so(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "store", "")
    described = describe(context.snapshot)
    alone = replace(described, history=described.history[:1])
    assert "This is the only snapshot" in str(history_section(alone, context.state))


def test_neighbouring_snapshots_with_the_same_contents_are_one_row_with_a_list_of_the_earlier_ones(
    tiny_store: str,
) -> None:
    context = resolve(ServedStore(tiny_store), "store", "")
    described = describe(context.snapshot)
    written = ("more", "same", "same", "same", "less", "same")
    told = [{**described.history[0], "snapshot": f"{n}" * 8, "message": m} for n, m in enumerate(written)]
    *_, table = history_section(replace(described, history=told), context.state)
    _, body = table.children.children
    contents = [str(row.children[1]) for row in body.children]
    assert [re.findall("more|same contents|same|less", cell) for cell in contents] == [
        ["more"],
        ["same", "same contents"],
        ["less"],
        ["same"],
    ]
    assert "2 snapshots before it with the same contents" in contents[1]
    assert [number for number in "012345" if f"open {number * 8}" in contents[1]] == ["2", "3"]


def test_a_snapshot_that_is_not_there_cannot_be_compared(three: str) -> None:
    assert "This snapshot cannot be opened" in shown(ServedStore(three), "?since=GONE")


def test_a_snapshot_is_compared_with_the_shown_one_and_a_number_opens_its_head(
    open_page: Open, three: str, three_publications: str, oldest: str
) -> None:
    """The changes are those between the first publication and the newest."""
    page = open_page(f"{three_publications}/store")
    page.get_by_text("before it with the same contents").last.click()
    page.get_by_role("listitem").last.get_by_role("link", name="compare with now").click()
    expect(page.get_by_role("heading", name=re.compile("Changes since"))).to_contain_text(
        utc(open_snapshot(three, oldest).published)
    )
    assert f"since={oldest}" in page.url
    expect(page.get_by_role("row").filter(has_text="sentences").filter(has_text="+10")).to_be_visible()
    is_accessible(page)
    changed = page.locator("table").filter(has_text="in standard deviations").get_by_role("row").nth(1)
    changed.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(f"/head.*snapshot={oldest}|/head.*{oldest}"))


def cut_corpus(tiny_store: str, share: float) -> object:
    """The page's first text on a corpus of which this share of sentences is cut."""
    corpus = describe(open_snapshot(tiny_store)).corpora[0]
    return many_cut(replace(corpus, name="films", sentences=1000, truncated=int(1000 * share), max_length=24))


def test_a_page_warns_of_a_corpus_with_many_cut_sentences(tiny_store: str) -> None:
    said = str(cut_corpus(tiny_store, 0.021))
    assert "Bdi('films'), ': 21 of 1,000 sentences (2.1%) are longer than 24 wordpieces and were cut." in said


def test_a_page_does_not_warn_of_few_cut_sentences(tiny_store: str) -> None:
    assert cut_corpus(tiny_store, 0.02) == []


def test_a_content_of_several_parts_stands_as_one_beside_its_title() -> None:
    parts = ["a model", " on ", "reviews"]
    (row,) = stacked_table(("contents",), [[parts]]).children[1].children
    (cell,) = row.children
    assert cell.children.children == parts
