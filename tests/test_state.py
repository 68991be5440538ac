"""The state of a link: one table for Python and the browser, links that restore a state, and bounds of every field."""

import json
import re
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dashboard.pages import TOPICS
from dashboard.web.bounds import Bounds, bounds_of, feature_bounds
from dashboard.web.context import Context, LinkReader, resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import (
    DEFAULTS,
    FIELDS,
    MOST_TOKENS,
    VALUES,
    LinkState,
    Of,
    browser_table,
)
from store import STATISTICS, open_corpus
from store.repository.history import SHORT_ID
from store.schema.model import SOURCES, varying_statistics


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


SCRIPTS = [
    path for path in (Path(__file__).parents[1] / "dashboard/assets").rglob("*") if path.suffix in (".js", ".mjs")
]


def test_the_table_has_every_field_of_the_state_for_python_and_the_browser() -> None:
    names = [field.name for field in fields(LinkState) if field.name != "page"]
    assert names == list(FIELDS) == list(DEFAULTS) == list(browser_table()["fields"])


def test_the_table_clears_fields_and_has_defaults_within_bounds() -> None:
    for name, field in FIELDS.items():
        assert set(field.clears + field.ends) <= FIELDS.keys() - {name}
        if DEFAULTS[name] is not None and isinstance(field.bounds, (range, tuple)):
            assert DEFAULTS[name] in field.bounds, name


def test_the_browser_gets_what_a_switch_stands_for_and_what_a_change_clears() -> None:
    table = browser_table()["fields"]
    assert (table["size"]["on"], table["special"]["on"]) == ("norm", "0")
    assert table["vectors"]["clears"] == ["fview", "point", "at"]
    assert table["sentence"]["clears"] == ["start", "queries", "toward", "hide", "window", "keywindow"]
    assert table["layer"]["always"] == ["head", "sentence", "compare"]
    assert table["tokens"] == {"default": LinkState().tokens}
    assert (table["text"]["brings"], table["text"]["ends"]) == ("words", ["second", "pair"])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_no_script_of_the_browser_repeats_a_default_a_bound_or_cleared_fields(path: Path) -> None:
    script, table = path.read_text("utf-8"), browser_table()
    assert not re.search(r"""get\("\w+"\)\s*(\?\?|\|\|)\s*("[^"]+"|'[^']+'|[1-9])""", script)
    assert not re.search(rf"\b({table['longest']}|{table['longestPair']}|{MOST_TOKENS})\b", script.replace("_", ""))
    for name, field in table["fields"].items():
        assert f'{name}: "{field.get("on", "never")}"' not in script
        listed = json.dumps(field.get("clears", ["never", "never"]))
        assert listed == '["at"]' or listed not in script


def a_link() -> st.SearchStrategy[str]:
    """Query strings with some fields of the table, with plausible and other values."""
    plausible = sorted(
        {str(word) for field in FIELDS.values() if isinstance(field.bounds, tuple) for word in field.bounds}
    )
    numbers = st.integers(-10, 2_000_000).map(str) | st.floats(0, 1).map(lambda share: f"{share:.3f}")
    values = (
        st.sampled_from(plausible) | numbers | st.from_regex(r"\d{1,3}(\.\d{1,3}){0,3}", fullmatch=True) | st.text()
    )
    return st.dictionaries(st.sampled_from([*FIELDS, "page", "nonsense"]), values, max_size=12).map(urlencode)


def is_within(name: str, value: object, bounds: Bounds) -> bool:
    """Whether the field may hold the value."""
    field = FIELDS[name]
    allowed = bounds[field.bounds] if isinstance(field.bounds, Of) else field.bounds
    if value is None or value == DEFAULTS[name]:
        return True
    if field.kind in ("text", "typed", "conditions"):
        return isinstance(value, str) and 0 < len(value) <= int(str(allowed))
    if field.kind == "pattern":
        return re.fullmatch(str(allowed), str(value)) is not None
    if field.kind == "share":
        return isinstance(value, float) and 0 <= value <= 1
    if field.kind == "numbers":
        return all(int(number) in allowed for number in str(value).split("."))  # type: ignore[operator]
    return value in allowed or str(value) in allowed  # type: ignore[operator]


def bounds_at(context: Context) -> Bounds:
    """The bounds of all fields at a context, with those of its feature points."""
    features = context.corpus.features(context.state.material or context.corpus.token_sets[0])
    own = feature_bounds(context.corpus, features, context.state.vectors)
    return {**bounds_of(context.snapshot, context.corpus, context.state.page), **own}


@given(page=st.sampled_from(list(TOPICS)), search=a_link())
@settings(max_examples=300)
def test_any_link_is_a_state_within_bounds_whose_link_is_itself(
    served_store: ServedStore, page: str, search: str
) -> None:
    context = resolve(served_store, page, search)
    bounds = bounds_at(context)
    assert [name for name, value in context.state.fields.items() if not is_within(name, value, bounds)] == []
    path, _, query = context.state.href.partition("?")
    again = resolve(served_store, path, query)
    assert again.state == context.state
    assert again.notices == ()


@given(layer=st.integers(0, 1), head=st.integers(0, 1), tokens=st.integers(1, MOST_TOKENS))
def test_a_link_restores_the_head_and_its_tokens(served_store: ServedStore, layer: int, head: int, tokens: int) -> None:
    path, _, query = LinkState(page="head", layer=layer, head=head, tokens=tokens).href.partition("?")
    state = resolve(served_store, path, query).state
    assert (state.page, state.layer, state.head, state.tokens) == ("head", layer, head, tokens)


@given(
    statistic=st.sampled_from(list(STATISTICS)),
    source=st.sampled_from(SOURCES),
    values=st.sampled_from(VALUES),
    sort=st.sampled_from([None, "head", *STATISTICS]),
)
def test_a_link_restores_the_statistic_of_all_heads(
    served_store: ServedStore, statistic: str, source: str, values: str, sort: str | None
) -> None:
    assume(statistic in varying_statistics(source))
    path, _, query = LinkState(
        "statistics", statistic=statistic, source=source, values=values, sort=sort
    ).href.partition("?")
    state = resolve(served_store, path, query).state
    assert (state.page, state.statistic, state.source, state.values, state.sort) == (
        "statistics",
        statistic,
        source,
        values,
        sort,
    )


def test_a_model_is_not_compared_with_itself(served_store: ServedStore) -> None:
    context = resolve(served_store, "/statistics", "")
    again = resolve(served_store, "/statistics", f"?other={context.corpus.name}")
    assert again.state.other is None
    assert "cannot be compared with itself" in again.notices[0]


@given(path=st.text(max_size=40), search=st.text(max_size=200))
def test_any_text_gives_a_head_of_the_model(served_store: ServedStore, path: str, search: str) -> None:
    context = resolve(served_store, path, search)
    assert 0 <= context.state.layer < context.corpus.layers
    assert 0 <= context.state.head < context.corpus.heads


@pytest.mark.parametrize("junk", ["layer=99", "layer=-1", "head=999999999999999999", "tokens=0"])
def test_a_number_out_of_range_gives_a_notice(served_store: ServedStore, junk: str) -> None:
    (notice,) = resolve(served_store, "/head", f"?{junk}").notices
    assert notice.startswith(f"{junk} is out of range (")
    assert "); showing " in notice


@pytest.mark.parametrize("text", ["100000000", "999999999999999999"])
def test_a_review_beyond_all_is_left_to_the_page_which_knows_how_many_there_are(
    served_store: ServedStore, text: str
) -> None:
    context = resolve(served_store, "/features", f"?review={text}")
    assert context.state.review == 99_999_999
    assert context.notices == ()


@pytest.mark.parametrize(
    "field", ["review=-1", "leaf=1000000", "start=5000", "answer=5000", "toward=99999", "window=-1"]
)
def test_no_notice_names_an_end_that_is_not_of_the_data(served_store: ServedStore, field: str) -> None:
    name = field.partition("=")[0]
    context = resolve(served_store, "/features", f"?{field}")
    assert context.state.fields[name] == DEFAULTS[name]
    assert context.notices == (f"Ignored an invalid parameter: {field}",)


@pytest.mark.parametrize("junk", ["layer=abc", "layer=1e3", "layer=٣"])
def test_a_value_that_is_not_a_whole_number_gives_a_notice(served_store: ServedStore, junk: str) -> None:
    (notice,) = resolve(served_store, "/head", f"?{junk}").notices
    assert notice.startswith(f"{junk} is not a whole number (0-1); showing 0")


@pytest.mark.parametrize("field", ["most", "fewest", "token", "toward", "ftoken"])
def test_an_invalid_number_without_a_default_is_ignored(served_store: ServedStore, field: str) -> None:
    context = resolve(served_store, "/sentence", f"?{field}=abc")
    assert context.state.fields[field] is None
    assert context.notices == (f"Ignored an invalid parameter: {field}=abc",)


@pytest.mark.parametrize(
    ("text", "value", "notices_given"), [("0.0.1", "0.1", 0), ("1.1", "1", 0), ("1.11", "1", 1), ("11", None, 1)]
)
def test_heads_out_of_range_and_repeated_heads_are_ignored(
    served_store: ServedStore, text: str, value: str | None, notices_given: int
) -> None:
    context = resolve(served_store, "/sentence", f"?heads={text}")
    assert (context.state.heads, len(context.notices)) == (value, notices_given)


@pytest.mark.parametrize(
    ("text", "value", "notices_given"),
    [("a;b:c|d", "a;b:c|d", 0), ("a;b:c|de", "a;b:c", 1), ("a:bcdef;g", "a:bcdef", 1), ("a:bcdefg", None, 1)],
)
def test_too_long_conditions_are_cut_between_two_of_them(text: str, value: str | None, notices_given: int) -> None:
    notices: list[str] = []
    assert LinkReader({}, {}, notices)._conditions("where", text, 7) == value
    assert len(notices) == notices_given


def test_a_too_long_search_gives_a_notice(served_store: ServedStore) -> None:
    (notice,) = resolve(served_store, "/", f"?q={'a' * 300}").notices
    assert notice == "q is longer than 200 characters; using the first 200"


def test_repeated_queries_are_ignored(served_store: ServedStore) -> None:
    assert resolve(served_store, "/sentence", "?queries=3.1.3").state.queries == "3.1"


def test_sentences_are_not_ranked_by_a_statistic_that_is_the_same_in_all(served_store: ServedStore) -> None:
    context = resolve(served_store, "/sentence", "?by=received")
    assert context.state.by is None
    assert "by=received" in context.notices[0]


TYPED = "?text=a&second=b&pair=ab&words=1&special=0&rollout=1&hide=2"


def test_a_link_to_a_token_of_a_sentence_shows_all_wordpieces(served_store: ServedStore) -> None:
    state = resolve(served_store, "/sentence", TYPED).state.of_sentence(3, queries="4")
    assert state.href == "/sentence?layer=0&sentence=3&queries=4"


def test_a_link_to_another_sentence_keeps_its_options_and_clears_the_pair(served_store: ServedStore) -> None:
    state = resolve(served_store, "/sentence", TYPED).state.of_sentence(3)
    assert state.href == "/sentence?layer=0&sentence=3&special=0&words=1&rollout=1"


def test_an_unknown_model_gives_a_notice_and_the_newest_model(served_store: ServedStore) -> None:
    context = resolve(served_store, "/", "?model=gpt-2")
    assert context.corpus.name in context.snapshot.models
    assert "gpt-2" in context.notices[0]


def test_an_unknown_snapshot_gives_the_newest(served_store: ServedStore) -> None:
    context = resolve(served_store, "/", "?snapshot=AAAAAAAAAAAAAAAAAAAA")
    assert context.snapshot.id == served_store.newest
    assert context.missing_snapshot == "This store has no snapshot AAAAAAAAAAAAAAAAAAAA; showing the newest."


def test_the_beginning_of_an_id_that_pages_show_means_its_snapshot(served_store: ServedStore) -> None:
    newest = served_store.newest
    context = resolve(served_store, "/", f"?snapshot={newest[:SHORT_ID]}")
    assert (context.state.snapshot, context.missing_snapshot) == (newest, None)
    assert open_corpus(served_store.url, snapshot=newest[:SHORT_ID]).snapshot == newest


def test_a_tab_whose_snapshot_was_deleted_says_so(served_store: ServedStore) -> None:
    context = resolve(served_store, "/", "", "AAAAAAAAAAAAAAAAAAAA")
    assert context.missing_snapshot == "The snapshot that this tab showed was deleted; showing the newest."


@pytest.mark.parametrize(("junk", "shown"), [("2000000", None), ("0", 1), ("many", None)])
def test_a_notice_on_the_number_of_tokens_names_those_of_the_store(
    served_store: ServedStore, junk: str, shown: int | None
) -> None:
    there = served_store.snapshot().corpus().n_tokens
    (notice,) = resolve(served_store, "/", f"?tokens={junk}").notices
    assert notice.endswith(f"(1-{there:,}); showing {shown or there:,}")


def test_an_unknown_page_gives_a_notice(served_store: ServedStore) -> None:
    assert "etc/passwd" in resolve(served_store, "/../etc/passwd", "").notices[0]


def test_a_link_keeps_its_snapshot(served_store: ServedStore) -> None:
    assert (
        resolve(served_store, "/", f"?snapshot={served_store.newest}").state.href == f"/?snapshot={served_store.newest}"
    )
