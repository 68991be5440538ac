"""Questions that programs ask of a store, as methods with plain arguments. A list says how many entries of how many it has."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from dashboard.compare.data import changes, ranked_heads
from dashboard.compare.two_models import ModelPair, unlike
from dashboard.programs.answers import (
    Arrival,
    Arriving,
    ChangedHead,
    Comparison,
    Definition,
    FoundSentence,
    FoundSentences,
    HeadAtRelation,
    HeadCard,
    HeadNumber,
    Model,
    Models,
    Pattern,
    RankedHeads,
    Relation,
    RelationOfHead,
    Role,
    RoleOfHead,
    View,
    Weight,
)
from dashboard.relations.accuracies import first_heads
from dashboard.relations.data import BestHead, best_of, links_of
from dashboard.roles.head_roles import has_roles, roles_of_head, what_a_role_does
from dashboard.roles.shares import shares_of
from dashboard.sentence.finder import MatchingSentences, SentenceFilter, find_sentences, line_of, statistic_ranking
from dashboard.statistics.data import interval_of, largest_first, ranks, telling_statistics, values_of, why_zero
from dashboard.statistics.heads import label_of
from dashboard.web.bounds import on_same_corpus
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import applies, in_names, special_names
from dashboard.web.state import LinkState, encode_fields
from store import Corpus
from store.kernels.rules import RULES
from store.repository.errors import NotIngested, StoreError, check_head
from store.schema.model import SOURCES, STATISTICS, head_name, varying_statistics

#: Number of parts of equal size that ranked sentences are split into.
DECILES = 10
Count = Annotated[int, Field(ge=1, le=200, description="How many are listed at most")]
ModelName = Annotated[str, Field(description="Name of a model of the store; empty for the one ingested last")]
LayerNumber = Annotated[int, Field(ge=0, description="Layer of the head, from 0")]
HeadNumberInLayer = Annotated[int, Field(ge=0, description="Number of the head in its layer, from 0")]
StatisticName = Annotated[str, Field(description="Name of a statistic, as list_statistics names them")]


@dataclass(frozen=True)
class StoreTools:
    """Tools with which programs ask the newest publication of a store.

    Attributes
    ----------
    served_store
        The store.
    server
        Address of its dashboard, such as `http://localhost:8050`: links begin with it. Where it is empty, links begin with `/`.
    """

    served_store: ServedStore
    server: str = ""

    def list_models(self) -> Models:
        """The models of the store: their sizes, numbers of sentences, labels, and whether they have roles and relations."""
        snapshot = self.served_store.snapshot()
        return Models(
            snapshot.id, snapshot.published.isoformat(), [_model(snapshot.corpus(name)) for name in snapshot.models]
        )

    def list_statistics(self, model: ModelName = "") -> list[Definition]:
        """The statistics of a model's heads: name, unit, formula, meaning and the paper that defines each."""
        corpus = self._corpus(model)
        return [_definition(corpus, name) for name in telling_statistics(corpus)]

    def rank_heads(
        self,
        statistic: StatisticName,
        count: Count = 10,
        order: Annotated[Literal["largest", "smallest"], Field(description="Which heads come first")] = "largest",
        queries: Annotated[str, Field(description="Which query tokens count, such as all, cls or word")] = "all",
        model: ModelName = "",
    ) -> RankedHeads:
        """The heads with the largest or the smallest mean of a statistic over the corpus."""
        corpus = self._corpus(model)
        title, unit = STATISTICS[_telling(statistic, corpus)].title, STATISTICS[statistic].unit
        if statistic not in varying_statistics(_known(queries, SOURCES)):
            raise StoreError(
                f"Over all queries, {title} is 1 in every head. Choose another statistic, or other queries."
            )
        values = values_of(corpus.head_statistic, statistic, queries)
        heads = largest_first(-values if order == "smallest" else values, count)
        ranked = self._numbers(corpus, statistic, queries, heads)
        return RankedHeads(_said(corpus, f"{title}, {order} first"), unit, len(ranked), values.size, ranked)

    def list_roles(self, model: ModelName = "") -> list[Role]:
        """The roles that the test finds in at least one head, and the number of these heads; a role says what a head attends to."""
        corpus = self._corpus(model)
        shares = shares_of(corpus)
        return [
            Role(
                name,
                _said(corpus, RULES[name].title),
                _said(corpus, what_a_role_does(name)),
                len(shares.heads_of(name)),
            )
            for name in shares.found_roles
        ]

    def heads_with_role(
        self,
        role: Annotated[str, Field(description="Name of a role, as list_roles names them")],
        count: Count = 10,
        model: ModelName = "",
    ) -> RankedHeads:
        """The heads in which the test finds a role; their number is the bias: attention to its words over that to an average word."""
        corpus = self._corpus(model)
        shares = shares_of(corpus)
        heads = shares.heads_of(_known(role, shares.tested))
        bias = shares.bias[shares.tested.index(role)]
        ranked = [self._ranked(corpus, head, float(bias[head]), place) for place, head in enumerate(heads[:count], 1)]
        return RankedHeads(
            _said(corpus, f"role: {RULES[role].title}"), "times an average word", len(ranked), len(heads), ranked
        )

    def describe_head(self, layer: LayerNumber, head: HeadNumberInLayer, model: ModelName = "") -> HeadCard:
        """What is known of one head: roles with tests, every statistic with interval and rank, relations at which it is the best head."""
        corpus = self._corpus(model)
        check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
        known = has_roles(corpus)
        return HeadCard(
            head_name(layer, head),
            corpus.title,
            _said(corpus, str(corpus.head_roles.values[layer, head])) if known else "The store has no roles of heads.",
            _said(corpus, label_of(corpus, layer, head)),
            _roles(corpus, layer, head) if known else [],
            [
                number
                for name in telling_statistics(corpus)
                for number in self._numbers(corpus, name, "all", [(layer, head)])
            ],
            _best_at(corpus, layer, head),
            self._link(corpus, "head", layer=layer, head=head),
        )

    def find_sentences(
        self,
        words: Annotated[str, Field(description='Words, all of which occur; "a phrase" in quotes')] = "",
        label: Annotated[str, Field(description="Label of the sentence's review; empty for any")] = "",
        count: Count = 10,
        model: ModelName = "",
    ) -> FoundSentences:
        """Sentences of the corpus with some words or a label, in the order of the corpus."""
        corpus = self._corpus(model)
        if label and not corpus.label_names:
            raise StoreError("The reviews of this corpus have no labels. Leave the label out.")
        if label:
            _known(label, corpus.label_names)
        conditions = SentenceFilter(words, label)
        found = find_sentences(corpus, conditions, among=corpus.counted_sentences, limit=count)
        return self._sentences(corpus, "in the order of the corpus", found)

    def sentences_of_head(
        self,
        layer: LayerNumber,
        head: HeadNumberInLayer,
        statistic: StatisticName,
        decile: Annotated[int, Field(ge=1, le=DECILES, description="1: where the statistic is largest")] = 1,
        count: Count = 10,
        model: ModelName = "",
    ) -> FoundSentences:
        """Example sentences of a head from one tenth of the corpus, by the mean of a statistic over the tokens of each sentence."""
        corpus = self._corpus(model)
        check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
        ranking = statistic_ranking(corpus, _telling(statistic, corpus), layer, head)
        tenth = np.array_split(ranking.order(np.arange(corpus.n_sentences)), DECILES)[decile - 1]
        lines = tuple(line_of(corpus, int(sentence), float(ranking.values[sentence])) for sentence in tenth[:count])
        of = f"{_said(corpus, ranking.title)} in {head_name(layer, head)}, tenth {decile} of {DECILES}, largest first"
        found = MatchingSentences(len(tenth), corpus.n_sentences, lines)
        return self._sentences(corpus, of, found, layer=layer, heads=str(head))

    def attention(
        self,
        sentence: Annotated[int, Field(ge=0, description="Number of a sentence with vectors, from 0")],
        layer: LayerNumber,
        head: HeadNumberInLayer,
        count: Count = 20,
        model: ModelName = "",
    ) -> Pattern:
        """The largest attention weights of a head in a sentence, and the sentence's wordpieces."""
        corpus = self._corpus(model)
        check_head(layer, head, layers=corpus.layers, heads=corpus.heads)
        pieces = [str(piece) for piece in corpus.wordpieces(corpus.sentence_rows(sentence))]
        weights = corpus.weights(sentence, layer=layer, head=head)
        largest = [
            Weight(query, key, pieces[query], pieces[key], float(weights[query, key]))
            for query, key in largest_first(weights, count)
        ]
        link = self._link(corpus, "sentence", sentence=sentence, layer=layer, heads=str(head))
        return Pattern(sentence, head_name(layer, head), pieces, len(largest), weights.size, largest, link)

    def relation_accuracy(
        self,
        relation: Annotated[str, Field(description="A dependency such as dobj, or a pattern such as ADJ -> NOUN")],
        direction: Annotated[
            Literal["forward", "backward", "received"],
            Field(
                description="What links a pair: the dependent attends most to its governor, the governor to it, or it gets most from it"
            ),
        ] = "forward",
        count: Count = 10,
        model: ModelName = "",
    ) -> Relation:
        """Heads ranked by how often their strongest attention links the two words of a grammatical relation, beside the best offset."""
        corpus = self._corpus(model)
        links = links_of(corpus, relation).sel(direction=direction)
        ranked = [
            self._at_relation(corpus, links.isel(layer=layer, head=head), layer, head)
            for layer, head in first_heads(links, count)
        ]
        offset, share, pairs = int(links.offset), _finite(links.offset_accuracy), int(links.pairs.values[-1])
        return Relation(relation, direction, pairs, offset, share, len(ranked), corpus.layers * corpus.heads, ranked)

    def compare_models(
        self,
        other: Annotated[str, Field(description="Name of the second model")],
        statistic: StatisticName = "entropy",
        count: Count = 10,
        model: ModelName = "",
    ) -> Comparison:
        """The heads whose attention differs most between two models on the same corpus; differences are other minus model."""
        snapshot = self.served_store.snapshot()
        corpus, second = snapshot.corpus(model or None), snapshot.corpus(other or None)
        if second.name == corpus.name:
            raise StoreError("A model does not differ from itself. Give the name of another one: see list_models.")
        if second.name not in on_same_corpus(snapshot, corpus):
            raise StoreError(f"{unlike(corpus, second)} Choose a model of the same corpus: see list_models.")
        two = ModelPair(corpus, second)
        if not two.same_heads:
            raise StoreError(f"{two.differences()[0]} Page Compare compares means over all heads.")
        changed = changes(two, _telling(statistic, corpus, second), "all")
        difference, size = changed.difference, changed.divergence.mean.size
        rows = [
            ChangedHead(
                head_name(*head),
                *head,
                float(changed.divergence.mean[head]),
                float(difference.own[head]),
                float(difference.other[head]),
                float(difference.change.mean[head]),
                float(difference.change.low[head]),
                float(difference.change.high[head]),
                self._link(corpus, "compare", layer=head[0], head=head[1], other=second.name, statistic=statistic),
            )
            for head in ranked_heads(changed, "divergence")[:count]
        ]
        return Comparison(corpus.title, second.title, statistic, difference.sentences, len(rows), size, rows)

    def what_arrives(
        self,
        sentence: Annotated[int, Field(ge=0, description="Number of a sentence with vectors, from 0")],
        target: Annotated[
            int | None, Field(ge=0, description="Position of the token whose vector it is; none for the mean of all")
        ] = None,
        model: ModelName = "",
    ) -> Arrival:
        """What a token's vector, or the mean of all (a sentence vector), is made of after the last layer: the share of each token."""
        corpus = self._corpus(model)
        pieces = [str(piece) for piece in corpus.wordpieces(corpus.sentence_rows(sentence))]
        if target is not None and target >= len(pieces):
            raise StoreError(
                f"Sentence {sentence} has {len(pieces)} tokens. Choose a target from 0 to {len(pieces) - 1}."
            )
        shares = corpus.context_mixing(sentence, rolled_out=True).values[-1]
        weights = corpus.weights(sentence, layer=corpus.layers - 1).mean(axis=0)
        share, attention = ((rows.mean(0) if target is None else rows[target]) for rows in (shares, weights))
        of = "the mean of all tokens" if target is None else pieces[target]
        last, queries = corpus.layers - 1, None if target is None else str(target)
        link = self._link(corpus, "sentence", sentence=sentence, rollout="globenc", layer=last, queries=queries)
        numbers = zip(pieces, share.tolist(), attention.tolist(), strict=True)
        return Arrival(sentence, of, [Arriving(place, *each) for place, each in enumerate(numbers)], link)

    def link_to_view(
        self,
        page: Annotated[str, Field(description="Page, such as head, statistics or sentence; empty for Overview")] = "",
        fields: Annotated[
            dict[str, str | int] | None,
            Field(description="Fields of the link, such as layer, head, colour: see docs/links.md"),
        ] = None,
    ) -> View:
        """The link to a view of the dashboard; `notices` say which values of the fields do not exist and were changed."""
        context = resolve(self.served_store, f"/{page}", f"?{encode_fields(fields or {})}")
        return View(self.server + context.state.href, list(context.every_notice))

    # -- parts --------------------------------------------------------------------------------------

    def _corpus(self, model: str) -> Corpus:
        return self.served_store.snapshot().corpus(model or None)

    def _link(self, corpus: Corpus, page: str, **fields: object) -> str:
        only = len(self.served_store.snapshot().models) == 1
        return self.server + LinkState(page=page, model=None if only else corpus.name).with_(**fields).href

    def _ranked(self, corpus: Corpus, head: tuple[int, int], value: float, rank: int) -> HeadNumber:
        link = self._link(corpus, "head", layer=head[0], head=head[1])
        label = _said(corpus, label_of(corpus, *head))
        return HeadNumber(head_name(*head), *head, value, None, None, rank, label, link)

    def _numbers(
        self, corpus: Corpus, statistic: str, queries: str, heads: Sequence[tuple[int, int]]
    ) -> list[HeadNumber]:
        values = values_of(corpus.head_statistic, statistic, queries)
        low, high = interval_of(corpus.head_interval, statistic, queries).values
        place, link = ranks(values), self._link(corpus, "statistics", statistic=statistic, source=queries)
        return [
            HeadNumber(
                head_name(*head),
                *head,
                _finite(values[head]),
                _finite(low[head]),
                _finite(high[head]),
                int(place[head]) if np.isfinite(place[head]) else None,
                _said(corpus, label_of(corpus, *head)),
                link,
            )
            for head in heads
        ]

    def _at_relation(self, corpus: Corpus, own: xr.Dataset, layer: int, head: int) -> HeadAtRelation:
        accuracy, low, high = map(_finite, (own.reported_accuracy, *own.interval.values))
        link = self._link(corpus, "head", layer=layer, head=head)
        return HeadAtRelation(head_name(layer, head), layer, head, accuracy, low, high, link)

    def _sentences(self, corpus: Corpus, what: str, found: MatchingSentences, **fields: object) -> FoundSentences:
        lines = [
            FoundSentence(
                line.sentence,
                line.text,
                line.label,
                line.tokens,
                _finite(line.value),
                self._link(corpus, "sentence", sentence=line.sentence, **fields),
            )
            for line in found.lines
        ]
        return FoundSentences(what, found.count, found.among, lines)


def tool_names() -> list[str]:
    """Names of the public methods of `StoreTools`, in the order of the class."""
    return [name for name, member in vars(StoreTools).items() if callable(member) and not name.startswith("_")]


def _model(corpus: Corpus) -> Model:
    return Model(
        corpus.name,
        corpus.title,
        corpus.layers,
        corpus.heads,
        corpus.n_sentences,
        corpus.n_tokens,
        corpus.counted_sentences,
        list(corpus.label_names),
        has_roles(corpus),
        bool(_best(corpus)),
    )


def _definition(corpus: Corpus, name: str) -> Definition:
    known = STATISTICS[name]
    formula, meaning = _said(corpus, known.formula), _said(corpus, known.meaning)
    return Definition(name, _said(corpus, known.title), known.unit, formula, meaning, known.paper)


def _best(corpus: Corpus) -> tuple[BestHead, ...]:
    """The best head of every relation; empty for a store without relations."""
    try:
        return best_of(corpus)
    except NotIngested:
        return ()


def _roles(corpus: Corpus, layer: int, head: int) -> list[RoleOfHead]:
    tests = corpus.role_tests.isel(layer=layer, head=head)
    return [
        RoleOfHead(
            role.name,
            _said(corpus, role.title),
            role.share,
            _finite(role.test.bias) if role.test else None,
            _finite(role.test.p) if role.test else None,
            role.test.holds if role.test else None,
        )
        for role in roles_of_head(corpus.roles.isel(layer=layer, head=head), tests)
        if applies(corpus, role.title)
    ]


def _best_at(corpus: Corpus, layer: int, head: int) -> list[RelationOfHead]:
    return [
        RelationOfHead(
            best.relation,
            best.direction,
            _finite(best.accuracy),
            _finite(best.interval[0]),
            _finite(best.interval[1]),
            _finite(best.offset_accuracy),
            best.pairs,
        )
        for best in _best(corpus)
        if (best.layer, best.head) == (layer, head)
    ]


def _telling(statistic: str, *models: Corpus) -> str:
    """The statistic, if a model has heads in which it is not 0; raises StoreError where it is 0 in all."""
    reasons = [why_zero(corpus, _known(statistic, STATISTICS)) for corpus in models]
    if all(reasons):
        raise StoreError(f"{reasons[0]}. Choose another statistic.")
    return statistic


def _said(corpus: Corpus, text: str) -> str:
    """A text in which special tokens have the names of the corpus' tokenizer, as on pages."""
    return in_names(text, special_names(corpus))


def _known(name: str, names: Collection[str]) -> str:
    if name not in names:
        raise StoreError(f"There is no {name[:80]!r}. Choose one of: {', '.join(names)}.")
    return name


def _finite(number: object) -> float | None:
    """A number for JSON, which has no NaN: None in its place."""
    value = float(number)  # type: ignore[arg-type]
    return value if np.isfinite(value) else None
