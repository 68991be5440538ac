"""Page Features: the same tokens at every feature point, in small panels or in a large one that steps through them.

In a section of the page a reader tries parameters of UMAP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, dcc, html

from dashboard.canvas.spec import Picture
from dashboard.features.data import ROLES, drawn_token_sets, is_drawn, token_set_title
from dashboard.features.figures import captions, feature_charts
from dashboard.features.picture import features_picture, headline, panel_texts, register, text_of
from dashboard.features.reading import Reading
from dashboard.features.review_choice import (
    READING,
    SEEKING,
    ReviewChoice,
    read_review,
    review_section,
    seek_reviews,
    token_set_choice,
    unread_page,
)
from dashboard.features.shown import FeatureView, selection_contrast
from dashboard.features.token import feature_token
from dashboard.features.trial import number_text, seed_of
from dashboard.features.trials import MISSING, Trials
from dashboard.notes.listing import noted_legend
from dashboard.points.colours import isolating, legend_line
from dashboard.points.controls import (
    filter_menu,
    filter_row,
    overlay_legend,
    overlays_of_feature,
    read_filters,
    selected_line,
)
from dashboard.points.search import no_hits
from dashboard.topic import Choices, Topic, read_then_draw
from dashboard.ui.controls import choice, info, number, search_controls, switch
from dashboard.ui.deferred import job_place
from dashboard.ui.markup import Page, file_links, unmade
from dashboard.ui.work import Job, WorkKind
from dashboard.web.bounds import matches_of, value_layers
from dashboard.web.context import Context
from dashboard.web.http import data_link, for_one_reader, validated
from dashboard.web.paths import PageLinks
from dashboard.web.state import MOST_NEIGHBORS, MOST_SEED, MOST_TRIED, OF_WORDS, TRIAL, TRIED, WITHIN, LinkState
from dashboard.web.token_sets import TokenSets, review_number
from store import Corpus
from store.phrases import many
from store.repository.ingest_status import IngestProgress
from store.schema.features import SAMPLE, point_title
from store.schema.pictures import JOINT, METRICS

EMPTY = "Feature points: not computed."
UNDRAWN = "Picture of the tokens of {}: not computed."
SCALE = {"same": "shared", "each": "per panel"}
#: Fields of a link that belong to one token set.
OF_TOKEN_SET = ("review", "vectors", "point", "fview", "fonly", "ftoken", "flasso", "at")
#: Fields of a link that hold the parameters of a trial.
TRIED_FIELDS = ("trial", "fit", "neighbors", "mindist", "metric", "seed")
#: The fit of a trial that was not fitted before.
TRYING = WorkKind(
    place=TRIAL,
    waiting="Waiting for the trial of another reader to end.",
    cancelled="The trial was cancelled.",
    again=None,
    fields=("model", "snapshot", "material", "review", "vectors", *TRIED_FIELDS),
)
#: Tokens to choose from.
TOKENS = (500, TRIED, MOST_TRIED)
#: Neighbours and minimum distances to choose from.
NEIGHBOURS = (5, 10, 15, 30, 50, 100, MOST_NEIGHBORS)
MIN_DISTS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
_ABOUT = (
    "UMAP of the first tokens, as an ingest with these parameters makes it; the same seed gives the same picture. On one point: fitted "
    "there, the other points placed among their nearest. It takes seconds to a minute; leaving the page or changing a parameter stops it."
)
UNFITTED = "This link shows a trial that the server does not have yet. Press Run."


@dataclass(frozen=True)
class FeaturesPage:
    """What the page shows at a link.

    Attributes
    ----------
    chosen
        The token set of the link; None for a store without feature points.
    shown
        The feature points of the picture; None without a picture of the tokens.
    ingest
        The ingest under way, which may make what is missing.
    """

    corpus: Corpus
    state: LinkState
    chosen: ReviewChoice | None
    shown: FeatureView | None
    ingest: IngestProgress | None


def read(context: Context) -> FeaturesPage:
    """What the page and its picture show."""
    corpus, state, served = context.corpus, context.state, context.served_store
    chosen = ReviewChoice.of(corpus, state, served.service(Reading)) if corpus.token_sets else None
    shown = FeatureView.of(context) if is_drawn(served.service(TokenSets), corpus, state) else None
    return FeaturesPage(corpus, state, chosen, shown, context.ingest)


def picture(page: FeaturesPage) -> Picture | None:
    """The picture on the canvas; None without one."""
    return features_picture(page.shown) if page.shown else None


def choices(page: FeaturesPage) -> Choices:
    """Values of the controls and their defaults; of the token set alone without a picture."""
    if page.chosen is None:
        return {}, {}
    name = page.chosen.token_set
    own: dict[str, object] = {"material": name, "review": review_number(name)}
    first: dict[str, object] = {"material": page.corpus.token_sets[0]}
    values, defaults = page.shown.choices if page.shown else ({}, {})
    return own | values, first | defaults


def valid_selection(page: FeaturesPage) -> dict[str, object]:
    """The valid fields of a link that select tokens; none where nothing is drawn."""
    return page.shown.valid_fields if page.shown else {}


def draw(page: FeaturesPage) -> Page:
    """The page; without a picture, how to get one, or a review that is being read."""
    chosen = page.chosen
    if chosen and not chosen.is_stored:
        for_one_reader()  # the server may have dropped the review when the next reader comes
    if chosen and page.shown:
        return draw_picture(page.shown, chosen)
    if chosen and not chosen.is_stored:
        return unread_page(chosen)
    todo = _what_to_do(page.corpus, page.state, page.ingest)
    return Page(above=[html.H1("Features"), dmc.Alert(todo, color="blue", variant="light")])


def draw_picture(shown: FeatureView, chosen: ReviewChoice) -> Page:
    """The page around the picture."""
    return Page(
        above=[_title(shown), _how_to_read(shown), *_controls(shown, chosen)],
        beside=[] if shown.panel is None else feature_token(shown),
        below=[
            overlay_legend(overlays_of_feature(shown.state)),
            *captions(shown),
            *selection_contrast(shown),
            *_files(shown),
        ],
        notices=shown.notices,
    )


def after_picture(page: FeaturesPage) -> list[object]:
    """The charts, which are drawn after the picture so that it does not wait for them."""
    return feature_charts(page.shown) if page.shown else []


def _what_to_do(corpus: Corpus, state: LinkState, ingest: IngestProgress | None) -> list[object]:
    """How to compute feature points or their picture, and links to the token sets that have one."""
    if not corpus.token_sets:
        return unmade(ingest, EMPTY)
    first = corpus.token_sets[0]
    links = [part for name in drawn_token_sets(corpus) for part in (" ", _link_to(state, name, first))]
    return [*unmade(ingest, UNDRAWN.format(token_set_title(state.material or first))), *links]


def _link_to(state: LinkState, token_set: str, first: str) -> dcc.Link:
    """A link to a token set; links do not name the first one."""
    href = state.with_(material=None if token_set == first else token_set, **dict.fromkeys(OF_TOKEN_SET)).href
    return dcc.Link(f"Show {token_set_title(token_set)}.", href=href)


def _title(shown: FeatureView) -> html.Div:
    series = shown.series
    if shown.panel is None:
        count = len(series.names)
        what = (
            f"{count} places in the model, from embedding to last layer"
            if series.layer is None
            else f"{count} heads in layer {series.layer}"
        )
        return html.Div(html.H1(f"{headline(shown)}{what}"), className="title-row")
    title = html.H1([headline(shown), text_of("name", panel_texts(shown, shown.panel))])
    back = dcc.Link("All panels", href=shown.state.with_(point=None, at=None).href)
    return html.Div([title, back], className="title-row")


def _how_to_read(shown: FeatureView) -> html.P:
    if shown.panel is None:
        panels = "layers left to right, each from top to bottom" if shown.series.layer is None else "one panel per head"
        return html.P(
            f"The same tokens in every panel: {panels}. Hover a panel for its trustworthiness, click it or press Enter to open it; the wheel zooms.",
            className="how-to-read",
        )
    following = "place in the model" if shown.series.layer is None else "head"
    return html.P(
        [
            text_of("meaning", panel_texts(shown, shown.panel)),
            f" Play, the slider or arrow keys go to the next {following}. Hover or click a token; lasso and box select in every panel; "
            "Backspace returns to all panels.",
            noted_legend(),
        ],
        className="how-to-read",
    )


def _files(shown: FeatureView) -> list[html.P]:
    base = f"features/{shown.series.features.name}"
    where = f"{shown.series}/{shown.view}/{shown.panel or 'grid'}"
    every = file_links(data_link(shown.corpus), "All tokens", f"{base}/tokens/{where}")
    if not shown.selection:
        return [every]
    return [
        every,
        file_links(data_link(shown.corpus), "The selected tokens", f"{base}/selection/{where}", shown.selection.fields),
    ]


def _controls(shown: FeatureView, chosen: ReviewChoice) -> list[object]:
    """The controls, the legend, the filters, and how many tokens are selected."""
    return [
        html.Div(
            [
                _picture(shown, chosen),
                search_controls(shown.state, matches_of(shown.corpus)),
                filter_menu(shown.filters, shown.offered),
            ],
            className="control-rows",
        ),
        html.Div([*review_section(chosen), *trial_section(shown)], className="sections"),
        legend_line(shown.legend, roles=ROLES, isolate=isolating(shown.state, "fonly")),
        filter_row(read_filters(shown.points, shown.filters), _no_match(shown) or _selected(shown)),
    ]


def _picture(shown: FeatureView, chosen: ReviewChoice) -> html.Div:
    state, series = shown.state, shown.series
    colours = {name: column.title for name, column in shown.points.columns.items()}
    scale = [choice("fscale", "Scale", SCALE, state.fscale, 110)] if series.layer is None else []
    labels = [switch("labels", "labels", bool(state.labels))] if shown.panel else []
    return html.Div(
        [
            token_set_choice(chosen),
            choice("vectors", "Vectors", _vectors(shown), "" if series.layer is None else str(series.layer), 145),
            choice("fview", "Picture", _views(shown), shown.view if shown.trial is None else TRIAL, 190),
            *scale,
            choice("fcolour", "Colour", colours, shown.colour.name, 230),
            *labels,
        ],
        className="controls",
    )


def _views(shown: FeatureView) -> dict[str, str]:
    """The pictures of the store by their titles, and the trial of the link if it has been fitted."""
    series = shown.series
    stored = {name: str(series.attributes(name)["title"]) for name in series.views}
    return stored | ({TRIAL: shown.tried.title} if is_held(shown) else {})


def _vectors(shown: FeatureView) -> dict[str, str]:
    layers = {str(layer): f"values of layer {layer}" for layer in value_layers(shown.series.features)}
    return {"": "places in the model"} | layers


def _no_match(shown: FeatureView) -> html.P | None:
    """What to do where the search finds no drawn token; for a review, links to other ways of matching that find tokens."""
    sought, within = shown.selection.q, shown.selection.within
    if not sought or shown.points.matching(sought, within).any():
        return None
    if shown.series.features.name == SAMPLE:
        return no_hits(shown.corpus, shown.state)
    clear = dcc.Link("Clear the search", href=shown.state.with_(q=None, within="token").href)
    text = f"No token of the review matches “{sought}” as a {within}. "
    return html.P([text, clear, ".", *_other_ways(shown)], className="count one-row no-hits", role="status")


def _other_ways(shown: FeatureView) -> list[object]:
    """Links to other ways of matching that find the text in the review."""
    counts = {way: int(shown.points.matching(shown.selection.q, way).sum()) for way in WITHIN if way not in OF_WORDS}
    links = [
        dcc.Link(f"{many(count, 'token')} as a {way}", href=shown.state.with_(within=way).href)
        for way, count in counts.items()
        if count
    ]
    return [" Similar: ", *[part for link in links for part in (", ", link)][1:], "."] if links else []


def _selected(shown: FeatureView) -> html.P:
    if not (shown.selection or shown.state.where):
        return html.P(className="count one-row", role="status")
    count, drawn = int(shown.selected.sum()), shown.tokens
    selected = f"{count:,} of {drawn:,} drawn tokens are selected, the same in every panel."
    return selected_line(selected if shown.selection else "", clears=True)


def trial_section(shown: FeatureView) -> list[Any]:
    """The section of trials, open where the link has parameters of a trial; none for the values of heads."""
    state = shown.state
    if shown.series.layer is not None:
        return []
    defaults = type(state)()
    chosen = state.fview == TRIAL or any(getattr(state, name) != getattr(defaults, name) for name in TRIED_FIELDS)
    possible = shown.series.trials is not None and shown.series.trials.can_try()
    inner = _trial_controls(shown) if possible else [html.P(MISSING, className="caption")]
    return [html.Details([html.Summary("Try UMAP on these tokens"), *inner], id="try-umap", open=chosen)]


def is_held(shown: FeatureView) -> bool:
    """Whether the trial of the link has been fitted."""
    series = shown.series
    if series.layer is not None or series.trials is None:
        return False
    return series.trials.find(series.corpus, series.features, shown.tried) is not None


def _trial_controls(shown: FeatureView) -> list[object]:
    trial, points = shown.tried, shown.series.features.points
    fits = {JOINT: "all points together"} | {point: point_title(point) for point in points}
    run: dict[str, Any] = {"disabled": shown.trial == trial}
    controls = [
        choice("fit", "Fitted on", fits, trial.fitted, 190),
        choice(
            "neighbors", "Neighbours", _numbers(NEIGHBOURS, trial.neighbors), str(trial.neighbors), 104, of_data=True
        ),
        choice("mindist", "Min. distance", _numbers(MIN_DISTS, trial.min_dist), trial.min_dist_text, 110, of_data=True),
        choice("metric", "Metric", {metric: metric for metric in METRICS}, trial.metric, 110, of_data=True),
        number("seed", "Seed", seed_of(shown.corpus) if trial.seed is None else trial.seed, 0, MOST_SEED, 1),
        choice("trial", "Number of tokens", _token_counts(shown), str(trial.tokens), 130, of_data=True),
        html.Div(
            [dmc.Button("Run", id={"run": TRIAL}, size="xs", className="run", **run), info("this trial", _ABOUT)],
            className="running",
        ),
    ]
    unfitted = shown.state.fview == TRIAL and shown.trial is None
    return [
        html.Div(controls, className="controls"),
        html.Div([html.Div(id={"place": TRIAL}), html.P(UNFITTED if unfitted else "")], className="trial"),
    ]


def _token_counts(shown: FeatureView) -> dict[str, str]:
    """Numbers of tokens to choose from, and the number of the link."""
    most = shown.series.features.n_tokens
    counts = sorted({shown.tried.tokens, *(min(count, most) for count in TOKENS)})
    return {str(count): f"{count:,}" for count in counts}


def _numbers(offered: Sequence[float], chosen: float) -> dict[str, str]:
    """The numbers to choose from, and the number of the link, as links write them."""
    texts = [number_text(number) for number in sorted({*offered, chosen})]
    return dict(zip(texts, texts, strict=True))


def tried(context: Context, job: Job) -> list[object]:
    """Fit the trial of the link, and return the fields of the link that shows it. Raises `Refusal` where it cannot be fitted now."""
    shown = FeatureView.of(context)
    context.served_store.service(Trials).fitted(context.corpus, shown.series.features, shown.tried, job)
    return [dcc.Store(id={"done": TRIAL}, data=shown.tried.fields)]


def add_run(app: Dash) -> None:
    """Add the callback of the button Run."""

    @app.callback(Output({"place": MATCH}, "children"), Input({"run": MATCH}, "n_clicks"), prevent_initial_call=True)
    @validated
    def run(clicks: int | None) -> list[object]:
        return [job_place(TRYING)] if clicks else []


FEATURES = Topic(
    name="features",
    title="Features",
    letter="f",
    docs="pictures.md#feature-points",
    layout=read_then_draw(read, draw),
    links=PageLinks(marked="features"),
    choices=choices,
    selection=valid_selection,
    picture=picture,
    after_picture=after_picture,
    jobs={TRYING: tried, READING: read_review, SEEKING: seek_reviews},
    routes=(register,),
    callbacks=(add_run,),
)
