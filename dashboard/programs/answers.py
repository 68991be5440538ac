"""Answers of the tools: numbers and texts, each with the object it belongs to. Layers, heads, sentences and tokens count from 0."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """A model of the store on its corpus. `sentences` and `tokens` have vectors; statistics count `counted_sentences`."""

    name: str
    title: str
    layers: int
    heads: int
    sentences: int
    tokens: int
    counted_sentences: int
    labels: list[str]
    has_roles: bool
    has_relations: bool


@dataclass(frozen=True)
class Models:
    """The models of a publication, the model ingested last first: a question without a model reads that one."""

    snapshot: str
    published: str
    models: list[Model]


@dataclass(frozen=True)
class Definition:
    """A statistic of heads: its name in links and tools, its unit and formula, and the paper that defines it."""

    name: str
    title: str
    unit: str
    formula: str
    meaning: str
    paper: str


@dataclass(frozen=True)
class HeadNumber:
    """A number of a head, with its 95% interval over sentences, its rank among `heads` heads (1: the largest), and its label."""

    head: str
    layer: int
    number: int
    value: float | None
    low: float | None
    high: float | None
    rank: int | None
    label: str
    link: str


@dataclass(frozen=True)
class RankedHeads:
    """Heads ranked by a number: the first `shown` of `heads`."""

    what: str
    unit: str
    shown: int
    heads: int
    ranked: list[HeadNumber]


@dataclass(frozen=True)
class Role:
    """A role: what a head with it does, and how many heads have it beyond chance."""

    name: str
    title: str
    meaning: str
    heads: int


@dataclass(frozen=True)
class RoleOfHead:
    """A role of a head: share of its attention; `bias`, attention to the words of the role over that to an average word.

    `holds`: the test finds the role in the head. None where no test compares the role with words.
    """

    name: str
    title: str
    share: float
    bias: float | None
    p: float | None
    holds: bool | None


@dataclass(frozen=True)
class RelationOfHead:
    """A grammatical relation at which this head is the best of all: accuracy on sentences that did not choose it."""

    relation: str
    direction: str
    accuracy: float | None
    low: float | None
    high: float | None
    best_offset_accuracy: float | None
    pairs: int


@dataclass(frozen=True)
class HeadCard:
    """A head: what it does in a sentence, its roles, every statistic with interval and rank, and relations at which it is the best."""

    head: str
    model: str
    does: str
    label: str
    roles: list[RoleOfHead]
    statistics: list[HeadNumber]
    best_at: list[RelationOfHead]
    link: str


@dataclass(frozen=True)
class FoundSentence:
    """A sentence of the corpus; `value` is the statistic that ranks it."""

    sentence: int
    text: str
    label: str
    tokens: int
    value: float | None
    link: str


@dataclass(frozen=True)
class FoundSentences:
    """The first of `found` sentences among the first `among` of the corpus."""

    what: str
    found: int
    among: int
    sentences: list[FoundSentence]


@dataclass(frozen=True)
class Weight:
    """The weight of a key for a query, both by position in the sentence and as wordpieces."""

    query: int
    key: int
    query_wordpiece: str
    key_wordpiece: str
    weight: float


@dataclass(frozen=True)
class Pattern:
    """Attention of a head in a sentence: the largest weights, `shown` of `pairs`."""

    sentence: int
    head: str
    wordpieces: list[str]
    shown: int
    pairs: int
    weights: list[Weight]
    link: str


@dataclass(frozen=True)
class HeadAtRelation:
    """Accuracy of a head at a relation, on sentences that did not rank it."""

    head: str
    layer: int
    number: int
    accuracy: float | None
    low: float | None
    high: float | None
    link: str


@dataclass(frozen=True)
class Relation:
    """Heads at a relation beside the baseline that always points at the offset that most pairs have; all of them over `pairs`."""

    relation: str
    direction: str
    pairs: int
    best_offset: int
    best_offset_accuracy: float | None
    shown: int
    heads: int
    ranked: list[HeadAtRelation]


@dataclass(frozen=True)
class ChangedHead:
    """A head in both models: its divergence in nats, a statistic in each, and the difference with its 95% interval."""

    head: str
    layer: int
    number: int
    divergence: float
    own: float
    other: float
    difference: float
    low: float
    high: float
    link: str


@dataclass(frozen=True)
class Comparison:
    """The heads that changed most between two models over the same sentences: `shown` of `heads`."""

    model: str
    other: str
    statistic: str
    sentences: int
    shown: int
    heads: int
    changed: list[ChangedHead]


@dataclass(frozen=True)
class Arriving:
    """A token of a sentence: its share of the target's vector after the last layer, and the attention it gets from the target."""

    position: int
    wordpiece: str
    share: float
    attention: float


@dataclass(frozen=True)
class Arrival:
    """Shares of all tokens in the vector of a target, by GlobEnc through all layers; attention is the mean over the last layer's heads."""

    sentence: int
    target: str
    tokens: list[Arriving]
    link: str


@dataclass(frozen=True)
class View:
    """A link to a page of the dashboard, and notices on fields that were changed."""

    link: str
    notices: list[str]
