"""What every head does: the shares of its attention by role and by kind of role, as words, as bars, and as a grid of all heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.charts import DotGroup, dot_groups
from dashboard.ui.controls import choice, explained, info
from dashboard.ui.glossary import term
from dashboard.ui.markup import FOLLOWED, Unmade
from dashboard.ui.text import capital
from dashboard.ui.theme import KIND_COLOURS
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import REST, RULES
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name

#: Kinds of roles in the order of the bars -> where their attention goes, in words.
KINDS: Mapping[str, str] = {
    "sinks": "special tokens",
    "position": "a position relative to the token",
    "same word": "the same word",
    "words": "a kind of word or mark",
    "grammar": "a word linked by grammar",
    "even": "all words evenly",
    UNEXPLAINED: "not explained",
}
NO_ROLE = "no role that a test finds"
#: Roles with titles too long for the corner of a panel -> their short titles.
TAGS: Mapping[str, str] = {
    REST: "specials",
    "previous": "previous",
    "next": "next",
    "second_previous": "2 back",
    "second_next": "2 ahead",
    "near": "nearby",
    "neighbours": "neighbours",
    "before": "before",
    "after": "after",
    "earlier": "earlier",
    "later": "later",
    "same_piece": "same piece",
    "same_word": "own word",
    "sentence_end": "end marks",
    "other_mark": "marks",
    "rare": "rarest",
    "function_word": "function",
    "content_word": "content",
    "same_part_of_speech": "same class",
    "governor": "governor",
    "dependent": "dependents",
    "verb_of_subject": "subj→verb",
    "subject_of_verb": "verb→subj",
    "verb_of_object": "obj→verb",
    "object_of_verb": "verb→obj",
    "noun_of_modifier": "mod→noun",
    "modifier_of_noun": "noun→mod",
    "modified_by_adverb": "adv→word",
    "antecedent": "antecedent",
    "even": "evenly",
}
#: Number of roles that Overview lists in full.
LISTED = 8
_ABOUT = (
    "The attention of a head is fitted as a mixture of rules: next token, commas, the verb of a subject and so on. A rule sees the "
    "text alone, never the attention that it explains. Shares are of all attention of words and marks, judged on {judged} sentences "
    "that the fit has not seen; they sum to 100%. What no rule explains depends on the context. Clark et al. (2019) name heads by "
    "thresholds instead: pages Heads and Statistics have these labels too."
)

_TESTS = (
    "One-sided t test over sentences of the mean attention to the words of the role, divided by the mean attention to a word of the "
    "sentence, against twice as much; false discoveries are held at 5% over all heads and roles (Benjamini and Hochberg 1995). A "
    "role of grammar must also get more attention than other words at the same distance."
)
_UNKNOWN = "Roles of heads: unknown, as the sentences that they are fitted on have no words."
_MORE_SENTENCES = "Ingest more sentences."
TESTED_ROLE = f"Heads in which a test finds the role. {_TESTS}"


@dataclass(frozen=True)
class RoleShares:
    """Roles of every head, with shares and tests.

    Attributes
    ----------
    kinds
        Kind of each role: (role,); the last role is what no role explains.
    share
        Share of the attention of words that each role explains: (role, layer, head).
    wording
        The largest shares of each head in words, "next token 81%, itself 9%": (layer, head).
    between_words, even
        Shares of the attention between words that the roles explain, and that even attention explains, means over heads.
    judged
        Sentences that shares are judged on.
    tested
        Names of the roles that are tested.
    bias
        How many times as much attention the words of a role get as other words: (tested role, layer, head); NaN where the
        corpus has no such words.
    found
        Whether the test finds the role, a role of grammar also at the same distance: (tested role, layer, head).
    """

    kinds: NDArray[np.str_]
    share: NDArray[np.float64]
    wording: NDArray[np.str_]
    between_words: float
    even: float
    judged: int
    tested: tuple[str, ...]
    bias: NDArray[np.float64]
    found: NDArray[np.bool_]

    @property
    def are_known(self) -> bool:
        """Whether the shares are known; False where no sentence of the fit has words."""
        return bool(np.isfinite(self.share).all())

    @cached_property
    def of_kinds(self) -> NDArray[np.float64]:
        """Shares of the kinds: (kind, layer, head)."""
        return np.stack([self.share[self.kinds == kind].sum(axis=0) for kind in KINDS])

    @cached_property
    def clearest(self) -> NDArray[np.intp]:
        """Index in `tested` of each head's found role with the largest bias, -1 without a found role: (layer, head)."""
        largest = np.where(self.found, self.bias, -1)
        return np.where(self.found.any(axis=0), largest.argmax(axis=0), -1)

    def clearest_title(self, layer: int, head: int) -> str:
        """The clearest role of a head in words; empty without one."""
        role = self._clearest_role(layer, head)
        return RULES[role].title if role else ""

    def clearest_tag(self, layer: int, head: int) -> str:
        """The clearest role of a head in few letters; empty without one."""
        return TAGS.get(self._clearest_role(layer, head), self.clearest_title(layer, head))

    def _clearest_role(self, layer: int, head: int) -> str:
        place = int(self.clearest[layer, head])
        return self.tested[place] if place >= 0 else ""

    def with_role(self, role: str) -> NDArray[np.bool_]:
        """Whether the role is found in each head: (layer, head), all False for an untested role."""
        return self.found[self.tested.index(role)] if role in self.tested else np.zeros(self.clearest.shape, bool)

    def heads_of(self, role: str) -> list[tuple[int, int]]:
        """Heads in which the role is found, the largest bias first: (layer, head)."""
        heads = np.argwhere(self.with_role(role))
        if not len(heads):
            return []
        order = np.argsort(-self.bias[self.tested.index(role)][tuple(heads.T)], kind="stable")
        return [(int(layer), int(head)) for layer, head in heads[order]]

    def clearest_head(self, role: str) -> tuple[int, int]:
        """The head with the largest bias among those whose clearest role this is; without such heads, among all with the role."""
        heads = self.heads_of(role)
        own = (head for head in heads if self.clearest[head] == self.tested.index(role))
        return next(own, heads[0])

    @property
    def found_roles(self) -> list[str]:
        """Roles that are found in at least one head, the role with the largest bias first."""
        largest = np.where(self.found, self.bias, -1).max(axis=(1, 2))
        order = np.argsort(-largest, kind="stable")
        return [self.tested[place] for place in order if largest[place] >= 0]


@cached
def shares_of(corpus: Corpus) -> RoleShares:
    """The shares of a corpus.

    Raises
    ------
    NotIngested
        Where the store has no roles.
    """
    roles, tests = corpus.roles, corpus.role_tests
    found = tests.found.values & ((tests.kind.values != "grammar")[:, None, None] | tests.offset_found.values)
    return RoleShares(
        kinds=np.asarray(roles.kind.values, str),
        share=np.asarray(roles.share.values, np.float64),
        wording=np.asarray(corpus.head_roles.values, str),
        between_words=float(roles.explained.mean()),
        even=float(roles.even_explained.mean()),
        judged=int(roles.attrs["judged_sentences"]),
        tested=tuple(map(str, tests.role.values)),
        bias=tests.bias.values,
        found=found,
    )


def kind_number(kind: str) -> int:
    """The number of a kind of roles in its class, `kind-0` and so on (assets/overview.css)."""
    return list(KINDS).index(kind)


def groups_by_kind(shares: RoleShares, size: int) -> list[DotGroup]:
    """Heads grouped by the kind of their clearest role, with dots of `size`; heads without a role come first."""
    kinds = np.array([*(RULES[role].kind for role in shares.tested), ""])[shares.clearest]
    return dot_groups(kinds, KINDS, KIND_COLOURS, size=size, without=NO_ROLE)


def read_shares(corpus: Corpus, running: IngestProgress | None) -> RoleShares | Unmade:
    """The shares of a corpus; where it has no roles, how to get them."""
    try:
        shares = shares_of(corpus)
    except NotIngested as error:
        return Unmade.of(error, running)
    return shares if shares.are_known else Unmade(_UNKNOWN, _MORE_SENTENCES, running)


def known_shares(corpus: Corpus) -> RoleShares | None:
    """The shares of a corpus; None where it has no roles, for pages that do without roles."""
    shares = read_shares(corpus, None)
    return None if isinstance(shares, Unmade) else shares


def role_choice(state: LinkState, shares: RoleShares, label: str) -> html.Div:
    """A choice of one of the roles that tests find, with the number of heads of each."""
    titles = {role: f"{RULES[role].title} ({len(shares.heads_of(role))})" for role in shares.found_roles}
    return explained(choice("does", label, {"": "any"} | titles, state.does or "", 165), info("roles", TESTED_ROLE))


def role_titles(shares: RoleShares | None) -> list[str]:
    """The title of a table's column of roles; empty for a store without roles."""
    return ["clearest role"] if shares else []


def role_cells(shares: RoleShares | None, layer: int, head: int) -> list[html.Td]:
    """The cell of a head in the column of roles: its clearest role with the colour of the kind; an empty cell without a role."""
    if shares is None:
        return []
    place, does = int(shares.clearest[layer, head]), summary(shares, layer, head)
    if place < 0:
        return [html.Td(title=does)]
    mark = html.Span(className=f"kind-mark kind-{kind_number(RULES[shares.tested[place]].kind)}")
    return [html.Td([mark, " ", shares.clearest_title(layer, head)], title=does)]


def stacked_bar(shares: Sequence[float]) -> html.Div:
    """Shares of the kinds as one bar; the element around it has the text for screen readers."""
    parts = [
        html.Span(className=f"kind-{number}", style={"width": f"{100 * share:.1f}%"})
        for number, share in enumerate(shares)
        if share >= 0.001
    ]
    return html.Div(parts, className="kind-bar")


def _kinds_legend() -> html.Div:
    """A legend of the kinds; a click shows a kind alone in the grid that follows (assets/web/chart.mjs)."""
    return html.Div([_kind_chip(number, title) for number, title in enumerate(KINDS.values())], className="legend")


def _kind_chip(number: int, title: str) -> html.Button:
    key: Any = {"data-kind": str(number), "aria-pressed": "false"}
    mark = html.Span(className=f"kind-mark kind-{number}")
    return html.Button([mark, title], type="button", className="chip", title="Click to see it alone.", **key)


def role_grid(state: LinkState, shown: RoleShares) -> html.Div:
    """A grid of all heads, layers down and heads across: each cell has the bar of a head and opens the head."""
    layers, heads = shown.clearest.shape
    top = [html.Th(f"H{head}", scope="col") for head in range(heads)]
    rows = [
        html.Tr([html.Th(f"L{layer}", scope="row"), *(_cell(state, shown, layer, head) for head in range(heads))])
        for layer in range(layers)
    ]
    label: Any = {"aria-label": "What every head does", "role": "region"}
    table = html.Table([html.Thead(html.Tr([html.Td(), *top])), html.Tbody(rows)], className="label-table role-grid")
    return html.Div(table, className="label-table-frame", tabIndex=0, **label)


def _cell(state: LinkState, shown: RoleShares, layer: int, head: int) -> html.Td:
    href = state.on("head").with_(layer=layer, head=head).href
    does = described(shown, layer, head)
    named: Any = {"aria-label": does, FOLLOWED: ""}
    return html.Td(html.A(stacked_bar(shown.of_kinds[:, layer, head].tolist()), href=href, title=does, **named))


def described(shown: RoleShares, layer: int, head: int) -> str:
    """The name of a head and a summary of what it does."""
    return f"{head_name(layer, head)}: {summary(shown, layer, head)}"


def summary(shown: RoleShares, layer: int, head: int) -> str:
    """A summary of a head in one line: its shares, the unexplained share, and its clearest role."""
    rest = f"{100 * shown.share[-1, layer, head]:.0f}% not explained"
    place = int(shown.clearest[layer, head])
    role = (
        f"; {shown.clearest_title(layer, head)} {shown.bias[place, layer, head]:.0f} times an average word"
        if place >= 0
        else ""
    )
    return f"{shown.wording[layer, head]}; {rest}{role}"


def what_heads_do(state: LinkState, shown: RoleShares) -> list[object]:
    """The section on what heads do: the explained share, the grid of all heads, and the found roles with their clearest heads."""
    mean = shown.of_kinds.mean(axis=(1, 2))
    by_share = sorted(zip(list(KINDS)[:-1], mean[:-1].tolist(), strict=True), key=lambda kind: -kind[1])
    parts = ", ".join(f"{100 * share:.0f}% goes to {KINDS[kind]}" for kind, share in by_share if share >= 0.005)
    unexplained, heads = 100 * float(mean[-1]), shown.clearest.size
    return [
        html.H2(["What every head does", info("roles", _ABOUT.format(judged=f"{shown.judged:,}"))]),
        html.P(
            [
                html.Strong(
                    f"Rules explain {100 - unexplained:.0f}% of the attention of words and marks, {unexplained:.0f}% is not explained"
                ),
                f": {parts}. Between words they explain {100 * shown.between_words:.0f}%, where even attention would "
                f"explain {100 * shown.even:.0f}%. Means over the words and marks of {many(shown.judged, 'sentence')}.",
            ]
        ),
        _kinds_legend(),
        role_grid(state, shown),
        html.P(
            [
                html.Strong(
                    [
                        f"{int((shown.clearest >= 0).sum())} of {heads} heads have a ",
                        term("role"),
                        " that a test finds",
                    ]
                ),
                ": its words get more than twice the attention of other words.",
                info("the tests", _TESTS),
            ]
        ),
        html.Ul([_role(state, shown, role) for role in shown.found_roles[:LISTED]], className="kinds"),
        _others(state, shown),
    ]


def _role(state: LinkState, shown: RoleShares, role: str) -> html.Li:
    """A list entry of a role: the number of heads in which it is found, and its clearest head."""
    heads = shown.heads_of(role)
    layer, head = shown.clearest_head(role)
    count = dcc.Link(many(len(heads), "head"), href=state.on("heads").with_(does=role).href)
    clearest = dcc.Link(head_name(layer, head), href=state.on("head").with_(layer=layer, head=head).href)
    times = f"{shown.bias[shown.tested.index(role), layer, head]:.0f}"
    return html.Li(
        [
            html.Span(className=f"kind-mark kind-{kind_number(RULES[role].kind)}"),
            html.Span(
                [
                    f"{capital(RULES[role].title)}: ",
                    count,
                    "; clearest: ",
                    clearest,
                    f", {times} times an average word.",
                ],
                title=RULES[role].sentence,
            ),
        ]
    )


def _others(state: LinkState, shown: RoleShares) -> html.P | None:
    others = shown.found_roles[LISTED:]
    if not others:
        return None
    links = [dcc.Link(RULES[role].title, href=state.on("heads").with_(does=role).href) for role in others]
    parts: list[Any] = [part for link in links for part in (", ", link)][1:]
    return html.P(["Also found: ", *parts, "."], className="caption")
