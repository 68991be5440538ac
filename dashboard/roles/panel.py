"""The tab Role of page Head: a sentence on what the head does, its roles with tests, how well rules predict it, and the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.dictionary import DICTIONARY
from dashboard.roles.evidence import AGAINST, EVIDENCE, WORDPIECES
from dashboard.roles.head_roles import (
    WITHOUT,
    RoleShare,
    beyond_chance,
    listed_roles,
    main_role,
    percent,
    roles_by_share,
    roles_of_head,
    shares_of_head,
    smaller_roles,
    tests_at,
    what_it_does,
)
from dashboard.ui.controls import action, choice, info
from dashboard.ui.glossary import defined
from dashboard.ui.markup import Unmade, file_links, unmade_line
from dashboard.ui.small_pictures import bar_legend, share_bar
from dashboard.ui.text import decimal, sight, signed
from dashboard.web.http import data_link
from dashboard.web.state import THRESHOLDS, LinkState
from store import Corpus
from store.kernels.roles import LEAST_NAMED, UNEXPLAINED
from store.kernels.rules import RULES
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.rules import rule_titles
from store.schema.model import head_name

#: Sets of rules in the order of the table -> their titles.
SETS: Mapping[str, str] = {
    "uniform": "even attention",
    "single": "the best single rule",
    "six": "at most six rules",
    "all": "all rules",
    "static": "position and word",
}
#: Bins of distances in tokens on each side; widths double, the last bin has all larger distances.
BINS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, None))
#: Drawn parts of the variance of the scores; constants have no variance.
PARTS = ("position", "word", "position and word", "context")
#: Most roles named below the table: those with the largest bias.
MOST_SMALLER = 6
#: Ids of the parts below the first window of the tab -> their titles.
SECTIONS: Mapping[str, str] = {
    "role-sentences": "Evidence",
    AGAINST: "What speaks against it",
    "role-pairs": "Dictionary",
    WITHOUT: "If it were not there",
}
_UNKNOWN = "Roles of heads: unknown, as no sentence that they are judged on has a word."
_SHARE = (
    "Share of all attention of words and marks that goes where the role says and that the role explains, on {}. "
    "The shares of all roles and what is not explained sum to 100%; roles below 2% are one row."
)
_BASE = "Means over the words and marks of {}. A bar as wide as its column is 100%."
_TEST = (
    "How much more attention the words that the role names get than an average word: 1 is chance. One-sided t test over sentences "
    "of whether it is above the threshold; 5% false discoveries among all heads and roles (Benjamini and Hochberg 1995; Pande et "
    "al. 2021). Roles that name most words, and [CLS] and [SEP], are not tested."
)
_OFFSET = "Same distance: whether words with this relation get more than other words at the same distance (after Voita et al. 2019)."
_REPLICATED = "Replicated: either half of the sentences finds the role by itself."
_SMALLER = (
    "Few words have such a pair, or the head gives it little attention, but more than the threshold times that of an average word. "
    "Roles of grammar are named where they hold at the same distance too. A click shows the sentences."
)
_AGREEMENT = (
    "Roles are fitted on one half of the sentences, and for comparison on the other. Agreement: sum over the roles of the smaller "
    "of both weights, 100% for the same mixture. Adjusted Rand index of the main roles of strong pairs: {}."
)
_IOU = (
    "Predicted attention is compared with real attention on {}. IoU: sum of the smaller weights "
    "over sum of the larger ones, mean over sentences, 1 where they are equal; 95% interval by bootstrap over sentences. Skill: how much "
    "of what even attention misses is predicted. Position and word: a model in which the score of a pair is a number of the "
    "two positions plus a number of the two wordpieces."
)
_DISTANCES = (
    "Share of the attention of all queries by distance in tokens, back on the left and ahead on the right; mean over sentences. "
    "The bins double in width: 1, 2, 3 to 4, 5 to 8, 9 or more. The highest column is the largest share."
)
_WEIGHTS = "Weights in the score before the softmax: + attracts, − repels. In the order in which rules were chosen."
_VARIANCE = defined(
    "score",
    "Here it is a sum of what positions, the two wordpieces, one of each, and the context say. Shares of the variance of scores within "
    "rows, held out.",
)


@dataclass(frozen=True)
class RuleScore:
    """How well a set of rules predicts a head: IoU with its interval, and skill over even attention."""

    title: str
    names: str
    iou: float
    low: float
    high: float
    skill: float


@dataclass(frozen=True)
class RolePanel:
    """What the tab shows of the head of a link.

    Attributes
    ----------
    does
        What the head does, in a sentence.
    agreement, rand_index
        How well the two halves of the sentences agree on roles.
    shares
        Roles with at least `LEAST_LISTED`, the largest first, then all smaller roles as one, and last the unexplained share.
    smaller
        Roles below `LEAST_LISTED` that the test finds, roles of grammar also at the same distance; the largest bias first.
    random_found
        A sentence on the tests with random weights; empty where the ingest had no weights.
    sight
        A sentence on the tokens that a token of the model does not see, see `dashboard.ui.text.sight`.
    scores, judged
        Scores of each set in `SETS`, and the sentences that they are judged on, in words.
    variance
        Share of the variance of the scores by part.
    distances
        Share of the attention by distance, see `distance_shares`.
    evidence, choices
        The role whose sentences are shown, and the roles to choose from -> their titles.
    files
        The beginning of the URLs of the corpus' files.
    """

    state: LinkState
    does: str
    agreement: float
    rand_index: float
    shares: tuple[RoleShare, ...]
    smaller: tuple[RoleShare, ...]
    random_found: str
    sight: str
    scores: tuple[RuleScore, ...]
    judged: str
    variance: Mapping[str, float]
    distances: Mapping[str, float]
    evidence: str
    choices: Mapping[str, str]
    files: str


def role_panel(shown: RolePanel | Unmade, later: Mapping[str, html.Div]) -> list[object]:
    """The tab Role of page Head; `later` has its deferred parts by their names."""
    if isinstance(shown, Unmade):
        return [html.H2("Roles of this head"), unmade_line(shown)]
    dictionary = html.Div(_title("role-pairs"), className="role-heading")
    every = [later[WORDPIECES.name]] if WORDPIECES.name in later else []
    return [*draw_role_panel(shown), later[EVIDENCE.name], *every, dictionary, later[DICTIONARY.name]]


def read_role_panel(corpus: Corpus, state: LinkState, ingest: IngestProgress | None) -> RolePanel | Unmade:
    """Everything that the tab shows at once; where the store has no roles, how to get roles."""
    head = {"layer": state.layer, "head": state.head}
    try:
        roles, rules = corpus.roles.isel(head), corpus.rules.isel(head)
        tests = tests_at(corpus, state.threshold)
    except NotIngested as error:
        return Unmade.of(error, ingest)
    shares = shares_of_head(corpus, state.layer, state.head)
    if np.isnan(shares[UNEXPLAINED]):
        return Unmade(_UNKNOWN, "Run `headscape ingest` with more sentences.", ingest)
    every = roles_of_head(roles, tests.isel(head))
    evidence = state.evidence or main_role(shares)
    offered = [name for name in roles_by_share(shares) if shares[name] >= LEAST_NAMED]
    return RolePanel(
        state=state,
        does=f"{head_name(state.layer, state.head)} {what_it_does(shares)}",
        agreement=float(roles.agreement),
        rand_index=float(roles.rand_index),
        shares=listed_roles(every),
        smaller=smaller_roles(every),
        random_found=_with_random_weights(tests),
        sight=sight(corpus),
        scores=tuple(_score(rules, name) for name in SETS),
        judged=_judged_on(rules),
        variance={part: float(rules.variance_share.sel(part=part)) for part in PARTS},
        distances=distance_shares(corpus.head_profile.isel(head).values),
        evidence=evidence,
        choices={name: RULES[name].title for name in dict.fromkeys([*offered, evidence])},
        files=data_link(corpus),
    )


def _judged_on(rules: xr.Dataset) -> str:
    fitted = "no rule was fitted on" if rules.attrs["held_out"] else "rules were fitted on too"
    return f"{many(rules.attrs['judged_sentences'], 'sentence')} that {fitted}"


def distance_shares(profile: NDArray[np.float64]) -> dict[str, float]:
    """Shares of the attention by distance, from the farthest back to the farthest ahead.

    `profile` (offset,) has every offset from the farthest back to the farthest ahead; the two ends stand for all larger distances.
    """
    here = len(profile) // 2
    back, ahead = (
        {_bin_name(*ends): float(side[ends[0] - 1 : ends[1]].sum()) for ends in BINS}
        for side in (profile[:here][::-1], profile[here + 1 :])
    )
    before = {f"{name} back": share for name, share in reversed(back.items())}
    return before | {"itself": float(profile[here])} | {f"{name} ahead": share for name, share in ahead.items()}


def _bin_name(first: int, last: int | None) -> str:
    return f"{first} or more" if last is None else f"{first}" if first == last else f"{first} to {last}"


def _with_random_weights(tests: xr.Dataset) -> str:
    if "random_found" not in tests:
        return ""
    of = many(int(np.isfinite(tests.random_p).sum()), "test")
    return f" With random weights {int(tests.random_found.sum())} of {of} find a role."


def _score(rules: xr.Dataset, name: str) -> RuleScore:
    own, titles = rules.sel(rules=name), rule_titles()
    chosen = [titles[str(rule)] for rule in rules.chosen.values if rule]
    weights = rules.rule_weight.values[: len(chosen)].tolist()
    named = {
        "single": "".join(chosen[:1]),
        "six": ", ".join(f"{signed(weight, 2)} {title}" for weight, title in zip(weights, chosen, strict=True)),
        "static": "the most that a model without context can say",
    }
    low, high = own.interval.values.tolist()
    return RuleScore(SETS[name], named.get(name, ""), float(own.iou), low, high, float(own.skill))


def draw_role_panel(shown: RolePanel) -> list[object]:
    """The tab without its deferred parts: the evidence and the dictionary."""
    state = shown.state
    of_head = f"{state.layer}/{state.head}"
    return [
        html.P(shown.does, className="what-it-does"),
        html.P(beyond_chance((*shown.shares, *shown.smaller), state.threshold)),
        *_agreement(shown),
        _contents(state),
        html.Div([html.H2("Shares of its attention"), _threshold(state)], className="role-heading"),
        *_shares(shown),
        *_smaller(shown),
        file_links(shown.files, "Roles", f"roles/{of_head}", {"threshold": state.threshold}),
        html.Div(html.H2("How well rules predict it"), className="role-heading"),
        _scores(shown),
        html.P(
            ["What is left is context. Parts of the scores:", info("the parts of the scores", _VARIANCE)],
            className="caption",
        ),
        share_bar(shown.variance, "logit"),
        bar_legend(PARTS, "logit"),
        file_links(shown.files, "Rules", f"rules/{of_head}"),
        html.Div(
            html.H2(["Distance in tokens, back and ahead", info("distances", f"{_DISTANCES}{shown.sight}")]),
            className="role-heading",
        ),
        _distances(shown.distances),
        html.P(
            [
                "More of this head: ",
                dcc.Link("highest-scoring pairs", href=state.with_(tab="pairs").href),
                ", ",
                dcc.Link("attention by relative position", href=state.with_(tab="statistics").href),
                ".",
            ],
            className="caption",
        ),
        html.Div(
            [_title("role-sentences"), choice("evidence", "Role", shown.choices, shown.evidence, 210)],
            className="role-heading",
        ),
    ]


def draw_roles(shown: RolePanel) -> list[object]:
    """Roles, rules and distances of the tab, without controls, links and files, which need the server."""
    return [
        html.P(beyond_chance((*shown.shares, *shown.smaller), shown.state.threshold)),
        *_agreement(shown),
        html.H2("Shares of its attention"),
        *_shares(shown),
        *_smaller(shown),
        html.H2("How well rules predict it"),
        _scores(shown),
        html.H2(["Distance in tokens, back and ahead", info("distances", f"{_DISTANCES}{shown.sight}")]),
        _distances(shown.distances),
    ]


def _title(section: str) -> html.H2:
    """The heading of a part of the tab, with the id that links lead to."""
    return html.H2(SECTIONS[section], id=section)


def _contents(state: LinkState) -> html.P:
    """Links to parts of the tab, which is several times as high as a window."""
    links = [dcc.Link(title, href=f"{state.href}#{section}") for section, title in SECTIONS.items()]
    parts: list[Any] = [part for link in links for part in (" · ", link)][1:]
    return html.P(parts, className="caption contents")


def _agreement(shown: RolePanel) -> list[object]:
    """A line on how well both halves agree on roles; nothing where one half has no word."""
    if np.isnan(shown.agreement):
        return []
    about = info("agreement", _AGREEMENT.format("unknown" if np.isnan(shown.rand_index) else decimal(shown.rand_index)))
    said = f"Both halves of the sentences agree on these roles to {percent(shown.agreement)}."
    return [html.P([said, about], className="caption")]


def _threshold(state: LinkState) -> html.Div:
    options = {threshold: f"{threshold} times" for threshold in THRESHOLDS}
    return choice("threshold", "Threshold of the test", options, state.threshold, 130)


def _shares(shown: RolePanel) -> list[object]:
    titles = {
        "role": "",
        "share": f"{_SHARE.format(shown.judged)}{shown.sight}",
        "test": f"{_TEST} {_REPLICATED} {_OFFSET}{shown.random_found}",
    }
    head = [
        html.Th([title, *([info(title, about)] if about else [])], className="number" if about else None)
        for title, about in titles.items()
    ]
    rows = [_share_row(role, shown.state.threshold) for role in shown.shares]
    table = html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)], className="rows bars roles")
    return [html.P(_BASE.format(shown.judged), className="caption"), table]


def _smaller(shown: RolePanel) -> list[object]:
    """A line of the roles that the test finds below 2%; a click on a role opens its sentences."""
    if not shown.smaller:
        return []
    named = [
        part
        for role in shown.smaller[:MOST_SMALLER]
        if role.test
        for part in (
            ", ",
            action(role.title, shown.state.with_(evidence=role.name).href, title=role.description, look="link"),
            f" {decimal(role.test.bias, 1)} times",
        )
    ]
    more = f" and {len(shown.smaller) - MOST_SMALLER} more." if len(shown.smaller) > MOST_SMALLER else "."
    about = info("roles that are found below 2%", _SMALLER)
    return [html.P(["Below 2%, but found by the test: ", *named[1:], more, about], className="caption")]


def _share_row(role: RoleShare, threshold: str) -> html.Tr:
    bar = html.Div(className=f"bar {role.colour}", style={"width": percent(role.share)})
    return html.Tr(
        [
            html.Td([html.Span(role.title, title=role.description or None), bar]),
            html.Td(percent(role.share), className="number"),
            html.Td(_tested(role, threshold), className="number"),
        ]
    )


def _tested(role: RoleShare, threshold: str) -> list[html.Div]:
    """The bias of a role, and below it the results of its tests; nothing for a row that is not a single role."""
    test = role.test
    if test is None:
        return [html.Div("not tested", className="between")] if role.name in RULES else []
    if np.isnan(test.p):
        return [html.Div("too few such words", className="between")]
    again = "replicated" if test.replicated else "not replicated"
    said = [f"above {threshold}, {_p_value(test.p)}, {again}" if test.found else f"not above {threshold}"]
    if test.beyond_offset is not None:
        said.append(f"same distance: {'more' if test.beyond_offset else 'no more'}")
    return [html.Div(f"{decimal(test.bias, 1)} times"), *(html.Div(line, className="between") for line in said)]


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _scores(shown: RolePanel) -> html.Table:
    titles = {"predicted by": "", "IoU": _IOU.format(shown.judged), "skill": ""}
    head = [
        html.Th(
            [title, *([info(title, about)] if about else [])], className=None if title == "predicted by" else "number"
        )
        for title, about in titles.items()
    ]
    return html.Table(
        [html.Thead(html.Tr(head)), html.Tbody([_score_row(score) for score in shown.scores])], className="rows"
    )


def _distances(shares: Mapping[str, float]) -> html.Div:
    """A chart with a column for each bin of distances; the largest bin has the full height."""
    most = max(shares.values())
    columns = [
        html.Div(
            [
                html.Span(percent(share)),
                html.Div(style={"height": f"{100 * share / most:.0f}%"}, className="column"),
                html.Span(_short(name)),
            ],
            title=f"{name}: {100 * share:.1f}%",
        )
        for name, share in shares.items()
    ]
    text = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    label: Any = {"role": "img", "aria-label": f"Attention by distance in tokens: {text}"}
    return html.Div(columns, className="distances", **label)


def _short(name: str) -> str:
    """The label of a bin below its column, without back or ahead: `5-8`, `9+`."""
    return name.removesuffix(" back").removesuffix(" ahead").replace(" to ", "-").replace(" or more", "+")


def _score_row(score: RuleScore) -> html.Tr:
    about = [info("the weights of rules", _WEIGHTS)] if score.title == SETS["six"] else []
    names = [html.Div(score.names, className="caption")] if score.names else []
    interval = "" if np.isnan(score.low) else f"{decimal(score.low)} to {decimal(score.high)}"
    return html.Tr(
        [
            html.Td([score.title, *about, *names]),
            html.Td(
                [
                    html.Div(decimal(score.iou)),
                    html.Div(interval, className="between"),
                ],
                className="number",
            ),
            html.Td(percent(score.skill), className="number"),
        ]
    )
