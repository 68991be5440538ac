"""Page Sentence ranks, hides, draws, names and saves the tokens and heads that its link chooses."""

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from dash import html
from dash.development.base_component import Component
from plotly.utils import PlotlyJSONEncoder

from dashboard.pages import TOPICS
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.pairs import panel as pairs_panel
from dashboard.points.shown import ShownPoints
from dashboard.sentence.charts import PositionLimits, positions, read_positions
from dashboard.sentence.controls import control_row, filter_group, main_controls, more_button, more_groups
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.finder import finder, search_of, statistic_ranking
from dashboard.sentence.heads import ranking_panel
from dashboard.sentence.picture import read_shown, sentence_picture
from dashboard.sentence.sentence import Sentence
from dashboard.statistics.head_panel import draw_head_statistics, read_head_statistics
from dashboard.web.context import Context, resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.sentences import PIECES, a_pair

PAIR = "text=The+zany+film&second=was+good"


class OnePair:
    """A stand-in for an encoder, which gives the same pair for every text."""

    def encode(self, corpus: Corpus, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        assert (text, second, corpus.heads) == ("The zany film", "was good", 2)
        assert callable(has_left)
        return a_pair()


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    served_store = ServedStore(tiny_store)
    served_store.put(TypedSentences, OnePair())  # type: ignore[arg-type]
    return served_store


Go = Callable[[str], Context]


@pytest.fixture
def go(served_store: ServedStore) -> Go:
    """A function that gives the context of a query string on page Sentence."""
    return lambda query: resolve(served_store, "/sentence", f"?{query}")


def written(content: object) -> str:
    """The JSON of components."""
    return json.dumps(content, cls=PlotlyJSONEncoder, ensure_ascii=False)


def row_of(context: Context) -> list[Component]:
    """The controls in the row of a page."""
    return main_controls(context.state, context.corpus.layers, context.corpus.heads)


def controls_on(context: Context) -> list[object]:
    """The row of controls, and the controls that its button opens."""
    return [*row_of(context), more_groups(context.state, None, filters_of(context))]


def filters_of(context: Context) -> list[html.Fieldset]:
    return filter_group(read_shown(context))


def means_of(context: Context) -> list[object]:
    return positions(read_positions(context.corpus, context.state.layer, context.state.head), beside_matrix=True)


def ranked_query(context: Context) -> int:
    """Position of the query whose heads are ranked."""
    (position,) = re.findall(r"\(query, at (\d+)\)", written(ranking_panel(read_shown(context))))
    return int(position)


def link_with(content: object, field: str) -> dict[str, list[str]]:
    """The fields of the first link that has this field."""
    every = (parse_qs(urlparse(href).query) for href in re.findall(r'"href": "([^"]*)"', written(content)))
    return next(fields for fields in every if field in fields)


def csv_of(context: Context) -> tuple[str, str]:
    """Description and URL of the page's CSV file."""
    file = sentence_picture(read_shown(context))["csv"]
    return file["content"], file["url"]


# -- tokens -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("queries=2", 2),
        ("queries=2&hide=1", 3),
        ("queries=2&special=0", 3),
        ("queries=3&words=1", 4),
        ("queries=1&pair=ba", 7),
    ],
)
def test_the_query_that_is_ranked_is_the_one_that_is_chosen(go: Go, query: str, position: int) -> None:
    assert ranked_query(go(f"{PAIR}&toward=0&{query}")) == position


def test_a_chosen_key_is_no_query(go: Go) -> None:
    context = go(f"{PAIR}&toward=0&role=key&queries=2&show=neuron")
    assert "query, at" not in written(ranking_panel(read_shown(context)))
    assert sentence_picture(read_shown(context))["neuron_url"] is None


@pytest.mark.parametrize(("role", "count"), [("query", 6), ("key", 3)])
def test_as_many_tokens_are_selected_as_their_column_has(go: Go, role: str, count: int) -> None:
    every = list(range(len(PIECES)))
    context = go(f"{PAIR}&pair=ab&role={role}&queries={'.'.join(map(str, every))}")
    assert sentence_picture(read_shown(context))["queries"] == every[:count]


def test_hidden_tokens_that_are_not_there_are_not_listed(go: Go) -> None:
    (group,) = filters_of(go(f"{PAIR}&hide=1.1.99"))
    assert '"value": ["1"]' in written(group)


@pytest.mark.parametrize(("query", "disabled"), [("", True), ("queries=1", False), ("role=key&queries=2", False)])
def test_tokens_can_be_hidden_once_they_are_selected(go: Go, query: str, disabled: bool) -> None:
    (button,) = [part for part in controls_of(filters_of(go(f"{PAIR}&{query}"))[0]) if part._type == "Button"]
    assert (button.children, button.disabled) == ("Hide selected", disabled)


@pytest.mark.parametrize(
    ("query", "toward"),
    [("toward=4", 4), ("toward=4&hide=1", 3), ("toward=3&words=1", 2), ("toward=1&hide=1", None), ("", None)],
)
def test_the_key_of_a_pair_is_found_among_the_shown_keys(go: Go, query: str, toward: int | None) -> None:
    assert sentence_picture(read_shown(go(f"{PAIR}&{query}")))["toward"] == toward


# -- groups -------------------------------------------------------------------------------------------


def controls_of(group: html.Fieldset) -> list[Component]:
    """The controls of a group below its title."""
    _, controls = group.children
    return list(controls.children)


@pytest.mark.parametrize(
    ("show", "titles"),
    [
        ("head", ["Weights", "Filter"]),
        ("model", ["Weights", "Filter"]),
        ("matrix", ["Weights", "Filter"]),
        ("neuron", ["Filter"]),
        ("positions", ["Filter"]),
        ("mixing", []),
    ],
)
def test_controls_that_the_button_opens_are_in_groups_with_a_title(go: Go, show: str, titles: list[str]) -> None:
    context = go(f"show={show}")
    groups = more_groups(context.state, None, filters_of(context)).children
    assert [group.children[0].children for group in groups] == titles


@pytest.mark.parametrize(
    ("query", "used"),
    [
        ("", ""),
        ("least=0.1&special=0", "minimum weight 0.1; hide special tokens"),
        ("show=matrix&least=0.1&mean=heads&scale=log", "mean of heads; log scale"),
        ("rollout=1&weights=norm&hide=1.2", "attention rollout; 2 tokens hidden"),
        ("renormalize=1&weights=norm", "weight x value norm ‖f(x)‖; rescale the rest to 100%"),
        ("headcolour=head", "a colour for each head"),
    ],
)
def test_what_is_set_in_the_closed_controls_stands_at_their_button(go: Go, query: str, used: str) -> None:
    label, button = more_button(go(query).state).children
    count = f"More ({len(used.split('; '))})" if used else "More"
    assert (label.children, button.children) == (used, count)


def test_the_button_stands_in_the_row_of_the_controls(go: Go) -> None:
    context = go("")
    row = control_row(row_of(context), more_button(context.state)).children
    assert written(row.children[-1]).count('"aria-controls": "more-controls"') == 1


def test_a_second_sentence_can_be_typed_beside_a_first(go: Go) -> None:
    for query, disabled in (("", True), ("text=The+zany+film&second=was+good", False)):
        (pair,) = [part for part in row_of(go(query)) if getattr(part, "className", "") == "typed-pair"]
        assert [getattr(control, "disabled", False) for control in pair.children] == [False, disabled]


@pytest.mark.parametrize(
    ("query", "label", "disabled"),
    [
        ("", "Attention: needs sentences A and B", True),
        ("text=The+zany+film", "Attention: needs sentence B", True),
        ("text=The+zany+film&second=was+good&pair=ab", "Attention from → to", False),
    ],
)
def test_the_directions_of_attention_are_there_before_a_second_sentence(
    go: Go, query: str, label: str, disabled: bool
) -> None:
    (directions,) = [part for part in row_of(go(query)) if getattr(part, "className", "") == "directions"]
    title, control = directions.children
    assert (title.children, control.disabled) == (label, disabled)
    assert [each["label"] for each in control.data] == ["All", "A → A", "A → B", "B → A", "B → B"]


def test_where_tokens_see_none_later_nothing_from_the_first_sentence_to_the_second_is_offered(go: Go) -> None:
    state = go("text=The+zany+film&second=was+good").state
    (directions,) = [
        part for part in main_controls(state, 2, 2, causal=True) if getattr(part, "className", "") == "directions"
    ]
    title, control = directions.children
    assert title.children == "Attention from → to (A sees no later B)"
    assert [each["value"] for each in control.data if each["disabled"]] == ["ab"]


@pytest.mark.parametrize(
    ("show", "scale"), [("matrix", "log"), ("model", "log"), ("positions", "root"), ("head", "root")]
)
def test_the_scale_is_that_of_matrices_and_thumbnails(go: Go, show: str, scale: str) -> None:
    context = go(f"show={show}&scale=log")
    assert sentence_picture(read_shown(context))["scale"] == scale
    assert ('"choose": "scale"' in written(controls_on(context))) == (scale == "log")


def test_a_scale_of_norms_does_not_end_at_one(go: Go) -> None:
    assert "square root, 0 to 1" in written(controls_on(go("show=matrix")))
    assert "square root, 0 to 1" not in written(controls_on(go("show=matrix&weights=norm")))


# -- heads --------------------------------------------------------------------------------------------


def test_a_rollout_has_its_one_head_chosen(go: Go) -> None:
    assert sentence_picture(read_shown(go("heads=1&rollout=1")))["chosen"] == [0]


@pytest.mark.parametrize("show", ["positions", "neuron"])
def test_views_of_the_attention_of_a_head_show_no_rollout(go: Go, show: str) -> None:
    shown = sentence_picture(read_shown(go(f"sentence=3&layer=1&head=1&show={show}&rollout=globenc&difference=1")))
    assert (shown["title"], shown["head"], shown["signed"]) == ("Attention of L1 H1 in sentence 3", 1, False)
    assert "rollout" not in shown["layer_url"] + shown["csv"]["url"]


# -- names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("", "Attention of layer 1"),
        ("heads=0", "Attention of head 0 of layer 1"),
        ("show=model&heads=0", "Attention of all layers"),
        ("show=model&rollout=1", "Attention rollout up to every layer"),
        ("show=matrix", "Attention of L1 H1"),
        ("show=matrix&weights=norm", "Attention x value norm of L1 H1"),
        ("show=matrix&mean=heads", "Mean attention over the heads of layer 1"),
        ("show=matrix&mean=heads&heads=1", "Mean attention over head 1 of layer 1"),
        ("show=matrix&mean=layers", "Mean attention over all layers of head 1"),
        ("show=matrix&mean=both", "Mean attention over the heads of all layers"),
        ("show=matrix&mean=both&weights=norm", "Mean attention x value norm over the heads of all layers"),
        ("show=matrix&mean=heads&rollout=1", "Attention rollout up to layer 1"),
        ("show=matrix&mean=both&rollout=1", "Mean attention rollout over all layers"),
        ("mean=heads", "Attention of layer 1"),
        ("rollout=1&weights=norm", "Attention rollout up to layer 1"),
        ("show=positions&weights=norm", "Attention of L1 H1"),
        ("show=neuron&weights=norm&rollout=1", "Attention of L1 H1"),
        ("show=positions&rollout=1", "Attention of L1 H1"),
    ],
)
def test_a_picture_is_named_after_what_it_shows(go: Go, query: str, title: str) -> None:
    assert sentence_picture(read_shown(go(f"layer=1&head=1&sentence=3&{query}")))["title"] == f"{title} in sentence 3"


@pytest.mark.parametrize(
    ("query", "caption"),
    [
        ("mean=both", "Mean of all 4 heads. "),
        ("mean=both&heads=1", "Mean of 1 head of each of 2 layers, chosen in Head view: H1. "),
        ("mean=heads", "Mean of all 2 heads of layer 1. "),
        ("mean=heads&heads=0", "Mean of 1 head of layer 1, chosen in Head view: H0. "),
        ("mean=layers&heads=0", "Mean of H1 of each of 2 layers. "),
        ("mean=both&rollout=1&heads=0", "Mean over 2 layers. "),
    ],
)
def test_the_caption_of_a_mean_says_which_heads_it_is_over(go: Go, query: str, caption: str) -> None:
    assert f'"{caption}"' in written(TOPICS["sentence"].layout(go(f"show=matrix&layer=1&head=1&{query}")).below)


def test_a_mean_over_chosen_heads_links_to_the_mean_over_all(go: Go) -> None:
    assert "Use all heads" in written(TOPICS["sentence"].layout(go("show=matrix&mean=both&heads=1")).below)
    assert "Use all heads" not in written(TOPICS["sentence"].layout(go("show=matrix&mean=both")).below)


@pytest.mark.parametrize(
    ("query", "choices"),
    [
        ("show=head", {"layer"}),
        ("show=model", set()),
        ("show=mixing", set()),
        ("show=neuron", {"layer", "head"}),
        ("show=matrix", {"layer", "head"}),
        ("show=matrix&mean=heads", {"layer"}),
        ("show=matrix&mean=layers", {"head"}),
        ("show=matrix&mean=both", set()),
        ("show=matrix&rollout=1", {"layer"}),
        ("show=matrix&mean=layers&rollout=1", set()),
    ],
)
def test_layer_and_head_can_be_chosen_where_they_change_the_view(go: Go, query: str, choices: set[str]) -> None:
    controls = written(controls_on(go(query)))
    assert {name for name in ("layer", "head") if f'"choose": "{name}"' in controls} == choices


def test_weights_cannot_be_chosen_of_a_rollout_which_says_why(go: Go) -> None:
    controls = written(controls_on(go("rollout=1")))
    assert '"disabled": true' in controls
    assert "Off here: choose it where Show is" in controls


@pytest.mark.parametrize(
    ("query", "caption", "of"),
    [
        ("", "Attention of layer 1", {"heads": ["0.1"]}),
        ("heads=0", "Attention of head 0 of layer 1", {"heads": ["0"]}),
        ("show=model&heads=0", "Attention of layer 1", {"heads": ["0.1"]}),
        ("show=matrix&heads=0", "Attention of L1 H1", {}),
        (
            "show=matrix&mean=heads&heads=0",
            "Mean attention over head 0 of layer 1",
            {"mean": ["heads"], "heads": ["0"]},
        ),
        ("show=matrix&rollout=1", "Attention rollout up to layer 1", {"rollout": ["1"]}),
        ("show=neuron&weights=norm", "Attention of L1 H1", {}),
    ],
)
def test_a_file_holds_what_its_link_says(go: Go, query: str, caption: str, of: dict[str, list[str]]) -> None:
    title, url = csv_of(go(f"layer=1&head=1&{query}"))
    assert (title, urlparse(url).path.rpartition("/weights/")[2]) == (caption, "1/1.csv")
    assert parse_qs(urlparse(url).query) == of


def test_a_file_of_the_neuron_view_has_the_steps_of_its_query(go: Go) -> None:
    caption, url = csv_of(go(f"{PAIR}&show=neuron&queries=2&special=0"))
    assert caption == "Every step of L0 H0"
    assert "/neuron/0/0/3.csv?" in url


# -- panels -------------------------------------------------------------------------------------------


def test_the_caption_says_that_positions_are_cut(go: Go) -> None:
    corpus = go("").corpus
    longest = corpus.sentences.row_size.values.max()
    shown = positions(read_positions(corpus, 0, 1, PositionLimits(positions=4)), beside_matrix=True)
    assert f"positions 0 to 3 of {longest}" in written(shown)


def test_the_means_by_position_can_be_had_as_a_file(go: Go) -> None:
    context = go("show=positions&layer=1&head=0")
    assert f"{data_link(context.corpus)}/positions/1/0.csv" in written(means_of(context))


def test_the_caption_says_which_words_are_not_searched_for(go: Go) -> None:
    eight, nine = (
        written(TOPICS["sentence"].layout(go(f"find={'+'.join('abdefghij'[:count])}")).beside) for count in (8, 9)
    )
    assert "Only the first 8 words are searched for." in nine
    assert "Only the first" not in eight


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("find=xylophone", "has the word “xylophone”. "),
        ("find=xylophone+%22the+film%22", "has the words “xylophone”, “the film”. "),
        ("find=xylophone&labelled=positive", "has the word “xylophone” and the label “positive”. "),
        ("fewest=20&most=1", "has at least 20 tokens and at most 1 token. "),
    ],
)
def test_conditions_that_no_sentence_meets_are_named_and_can_be_cleared(go: Go, query: str, reason: str) -> None:
    context = go(f"by=entropy&{query}")
    _, status, _ = finder(context.corpus, context.state, search_of(context.corpus, context.state))
    assert status.children[0] == f"None of 40 sentences {reason}"
    assert status.children[1].href == "/sentence?layer=0&by=entropy"


def test_only_means_of_all_rows_lead_to_sentences(go: Go) -> None:
    context = go("")
    content = written(draw_head_statistics(read_head_statistics(context.corpus, context.state, None)))
    assert content.count("by=entropy") == 1
    assert "by=received" not in content


def test_a_statistic_leads_to_its_largest_values_also_where_the_smallest_came_first(go: Go) -> None:
    context = go("first=smallest")
    content = draw_head_statistics(read_head_statistics(context.corpus, context.state, None))
    assert "first" not in link_with(content, "by")


def test_a_pair_leads_to_its_query_also_from_a_key(served_store: ServedStore) -> None:
    context = resolve(served_store, "/head", "?layer=1&head=1&role=key&token=3")
    assert "role" not in link_with(pairs_panel(ShownPoints.of(context, HeadTokens(context.corpus, 10))), "toward")


@pytest.mark.parametrize(
    ("query", "head"),
    [("heads=1", 1), ("heads=0.1", 0), ("heads=1&show=matrix", 0), ("heads=1&rollout=1", 0), ("head=1", 1)],
)
def test_sentences_are_ranked_in_the_head_that_is_drawn_alone(go: Go, query: str, head: int) -> None:
    context = go(f"by=to_sep&layer=1&{query}")
    search = search_of(context.corpus, context.state)
    expected = statistic_ranking(context.corpus, "to_sep", 1, head)
    assert search.head == head
    assert search.ranking
    assert search.ranking.values.tolist() == expected.values.tolist()
    assert f"Ranked by (L1 H{head})" in written(finder(context.corpus, context.state, search))
