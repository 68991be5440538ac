"""Ten tasks on single pages, which readers of earlier tools asked for: each ends with a check of what is on screen."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.bench.readers import Reader
from tests.browser import DRAWN

#: A word of several wordpieces: cap, ##y, ##bara.
LONG_WORD = "capybara"
FIRST, SECOND = f"The brown {LONG_WORD} slept.", "It was happy."
QUERY, KEYS = "brown", ("cap", "##y", "##bara")
#: A statistic of heads, and a minimum that some heads pass.
SINK, MINIMUM = "attention to [SEP]", "20"
REVIEW, SEED = "23", "11"
#: Milliseconds until a model has been loaded and has run, or UMAP has been fitted.
SLOW = 120_000
NOT_COMPUTED = re.compile(r"not computed\. Run headscape ingest")


def keep_heads_above(reader: Reader) -> None:
    """Show only the heads in which a statistic is at least a threshold that the reader chooses."""
    reader.open("Heads")
    reader.choose("Order", SINK)
    page = reader.page
    box = page.get_by_role("textbox", name=re.compile("^Minimum"))
    expect(box).to_be_enabled()
    reader.replace("Minimum, %", MINIMUM)
    expect(page).to_have_url(re.compile(f"above={MINIMUM}"))
    count = page.get_by_text(re.compile(r"^\d+ of \d+ heads$"))
    expect(count).not_to_have_text(re.compile(r"^(\d+) of \1 heads$"))
    shown = int((count.text_content() or "").split()[0])
    expect(page.locator(".panel-names > div:visible")).to_have_count(shown)


def draw_one_line_per_token(reader: Reader) -> None:
    """Draw only the strongest line of a point: top-N, with N of the reader's choice."""
    reader.open("Head")
    reader.click_point()
    page = reader.page
    expect(page.get_by_role("heading", name=re.compile("^Strongest weights"))).to_be_visible()
    reader.replace("lines per token", "1")
    expect(page).to_have_url(re.compile("top=1(&|#|$)"))
    expect(_table(page, "Strongest weights").locator("tbody tr")).to_have_count(1)


def mark_pairs(reader: Reader) -> None:
    """Mark the pairs of a query with three keys, each in a colour of its own, and in the link."""
    _type_first(reader)
    page = reader.page
    expect(page.locator(".tokens.key .token").get_by_text(LONG_WORD, exact=True)).to_be_visible()
    reader.switch("whole words")
    reader.select(page.locator(".tokens.query"), _token(page, "query", QUERY))
    for key in KEYS:
        reader.mark(_token(page, "key", key))
    chips = page.get_by_role("list", name="Marked pairs").locator(".chip")
    expect(chips).to_have_text([re.compile(f"{QUERY} → {key}") for key in KEYS])
    colours = chips.locator(".badge").evaluate_all("(badges) => badges.map((badge) => badge.style.background)")
    assert len(set(colours)) == len(KEYS)
    expect(page).to_have_url(re.compile(r"marks=2-3\.2-4\.2-5"))


def see_directions(reader: Reader) -> None:
    """See the attention from one sentence to another alone."""
    _type_first(reader)
    page = reader.page
    expect(page.get_by_role("textbox", name="Sentence B (optional)")).to_be_enabled()
    reader.replace("Sentence B (optional)", SECOND)
    directions = page.get_by_role("radiogroup", name="Attention from → to")
    expect(directions).to_be_visible(timeout=SLOW)
    reader.pick(directions, "A → B")
    expect(page).to_have_url(re.compile("pair=ab"))
    expect(_token(page, "query", LONG_WORD)).to_be_visible()
    expect(_token(page, "query", "happy")).to_have_count(0)
    expect(_token(page, "key", "happy")).to_be_visible()
    expect(_token(page, "key", LONG_WORD)).to_have_count(0)


def try_seed(reader: Reader) -> None:
    """Draw UMAP with another seed."""
    reader.open("Features")
    page = reader.page
    reader.follow(page.locator("summary").filter(has_text="Try UMAP"))
    reader.replace("Seed", SEED)
    expect(page).to_have_url(re.compile(f"seed={SEED}"))
    reader.follow(page.get_by_role("button", name="Run", exact=True))
    expect(page).to_have_url(re.compile("fview=trial"), timeout=SLOW)
    expect(page.get_by_text(re.compile(f"^A trial with seed {SEED}, "))).to_be_visible()
    expect(page.locator(DRAWN)).to_be_visible()


def read_review(reader: Reader) -> None:
    """See another review of the data at every place in the model."""
    reader.open("Features")
    page = reader.page
    reader.follow(page.locator("summary").filter(has_text="Read any review"))
    reader.write("Review", REVIEW)
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"tokens of review {REVIEW} at", timeout=SLOW)


def compare_models(reader: Reader) -> None:
    """See what fine-tuning has changed; in a store with one model, how to get a fine-tuned one."""
    reader.open("Compare")
    page = reader.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Two models on one corpus")
    alone = page.locator("#no-other")
    expect(
        alone.or_(page.get_by_text(re.compile("^The statistic in which a head differs most: "))).first
    ).to_be_visible()
    if alone.count():
        return expect(alone).to_contain_text("make compare")
    expect(page.get_by_text(re.compile(r"tells the label of .*% of .* held-out reviews"))).to_be_visible()
    changed = _table(page, "Heads that changed most")
    return expect(changed.locator("tbody tr").first).to_be_visible(timeout=SLOW)


def see_whole_words(reader: Reader) -> None:
    """See attention between words, not wordpieces."""
    _type_first(reader)
    page = reader.page
    expect(_token(page, "query", LONG_WORD)).to_be_visible()
    expect(_token(page, "key", LONG_WORD)).to_be_visible()
    expect(page.get_by_role("switch", name="whole words")).to_be_checked()


def read_uas(reader: Reader) -> None:
    """Read how well attention alone parses, or how to compute it."""
    _see_part_of_relations(reader, "Parsing from attention alone (UAS)")


def read_coreference(reader: Reader) -> None:
    """Read how well heads find the antecedent of a pronoun, or how to compute it."""
    _see_part_of_relations(reader, "Coreference")


def _see_part_of_relations(reader: Reader, title: str) -> None:
    reader.open("Relations")
    page = reader.page
    heading = page.get_by_role("heading", name=title)
    content = page.locator("h2").filter(has=page.get_by_text(title)).locator("xpath=following-sibling::*[1]")
    expect(heading).to_be_visible()
    reader.see(content)
    expect(content).to_contain_text(re.compile(rf"%|{NOT_COMPUTED.pattern}"))


def _type_first(reader: Reader) -> None:
    """Type the sentence, whose words are shown once the model has run."""
    reader.open("Sentence")
    reader.write("Sentence A", FIRST)
    expect(reader.page.locator('#sentence[data-drawn*="/typed/"]')).to_be_visible(timeout=SLOW)


def _token(page: Page, side: str, name: str) -> Locator:
    return page.locator(f".tokens.{side} .token").filter(has_text=re.compile(rf"^{re.escape(name)}$"))


def _table(page: Page, title: str) -> Locator:
    """The first table below a heading."""
    heading = page.locator("h2, h3").filter(has_text=title)
    return heading.locator("xpath=following::table[1]")
