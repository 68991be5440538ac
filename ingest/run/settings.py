"""The settings of an ingest. Every flag of `headscape ingest` is a field here.

Every field of a dataclass of settings is a flag of its command, and is checked as its kind. `Limits` are sizes and times that
no flag sets: they are those that every store is made with.
"""

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from ingest.run.errors import IngestError, short
from store.phrases import whole_number
from store.schema import BLOCK
from store.schema.pictures import METRICS, ViewName

T = TypeVar("T")
#: Words for a value of each kind, with an example.
KINDS: dict[type, str] = {int: "a whole number. Give one, such as 2000", float: "a number. Give one, such as 0.0001"}


def setting(default: Any, explanation: str, kind: type = str) -> Any:
    """A field that `parse_flags` makes a flag."""
    return field(default=default, metadata={"help": explanation, "type": kind})


def parse_flags(settings: type[T], arguments: Sequence[str] | None, *, command: str, description: str) -> T:
    """Settings from command line flags; an empty flag means the default, so that make can pass all of them."""
    parser = argparse.ArgumentParser(prog=command, description=description)
    kinds: dict[str, type] = {}
    for flag in fields(settings):  # type: ignore[arg-type]  # T is a dataclass
        kinds[flag.name] = flag.metadata["type"]
        parser.add_argument(_flag(flag), metavar=flag.name.upper(), help=_explanation(flag))
    values = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value not in (None, "")}
    return settings(**{name: _convert(name, value, kinds[name]) for name, value in values.items()})


def _flag(setting: Field[Any]) -> str:
    return "--" + setting.name.replace("_", "-")


def _explanation(setting: Field[Any]) -> str:
    default = setting.default
    shown = "" if default in (None, MISSING) else f" (default {default})"
    return f"{setting.metadata['help']}{shown}".replace("%", "%%")


def _convert(name: str, value: str, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise IngestError(f"--{name.replace('_', '-')}={short(value)} is not {KINDS[kind]}.") from error


#: About 105,000 tokens: with installation the first page is there in under two minutes on two cores.
DEFAULT_SENTENCES = 4000
#: More than those sentences have: vectors take 1,000 times as much room as the sums of the statistics.
DEFAULT_VECTORS = "200000"
EVERY = "all"
EMBEDDED = "embedded"
STAGES = ("all", "projections")
#: Pictures of heads in the order of computation: the first takes seconds, the second is the most faithful in two dimensions. Both show raw
#: vectors and wait for no normalisation.
DEFAULT_VIEWS = (
    "pca-raw-2d",
    "attention-raw-2d",
    "pca-exact-2d",
    "pca-exact-3d",
    "attention-raw-3d",
    "pca-centroid-2d",
    "pca-scaled-2d",
    "pca-sphere-2d",
    "pca-shared-2d",
    "attentionviz-centroid-2d",
    "tsne-raw-2d",
    "umap-raw-2d",
    "tsne-raw-3d",
    "umap-raw-3d",
)
#: Pictures of the feature points: two that take no time, then the most faithful that two minutes allow.
DEFAULT_FEATURES = ("pca-joint", "pca-each", "umap-joint", "tsne-each")
#: Index of the review that is read whole, where the data has it.
DEFAULT_REVIEW = 3
POINTS = ("standard", "fine")
AUTO, NONE = "auto", "none"
#: Ways to split the texts of the data into sentences.
SENTENCE_SPLITS = (AUTO, "lines", NONE)
PROBES = (AUTO, "all", NONE)
MIXING = (AUTO, NONE)
#: Most neighbours of UMAP, whose time and memory grow with them.
MOST_NEIGHBORS = 200


@dataclass(frozen=True)
class Settings:
    """Settings of one ingest. The defaults need no network and no GPU."""

    model: str = setting(
        EMBEDDED,
        "hub name or local folder of a BERT, RoBERTa, DistilBERT, ELECTRA or another known encoder; 'embedded' is all-MiniLM-L6-v2",
    )
    data: str = setting(
        EMBEDDED,
        "hub data set, as <name>, <name>:<configuration> or either with @<revision>; or csv, tsv (also GAP), parquet, json, jsonl, txt, conllu, conllx, "
        "conll10 or conll file, all but parquet also as .gz; or folder of such files, or what save_to_disk wrote, or pattern; "
        "'embedded' is the 25,000 labelled IMDB training reviews",
    )
    store: str = setting("data/headscape", "folder, s3://bucket/prefix or gs://bucket/prefix of the store")
    sentences: int | None = setting(
        None, f"how many sentences (default {DEFAULT_SENTENCES} where no --tokens are given)", int
    )
    tokens: int | None = setting(None, "how many tokens, instead of sentences", int)
    vectors: str = setting(
        DEFAULT_VECTORS,
        "queries, keys, statistics of each token and pictures only of the first so many tokens, in whole blocks, or all; "
        "statistics of heads and layers are over all sentences",
    )
    max_length: int = setting(128, "wordpieces of a sentence, [CLS] and [SEP] included; longer ones are cut", int)
    device: str = setting("auto", "auto, cuda, mps or cpu")
    dtype: str = setting(
        "auto", "auto (bfloat16 on cuda, float16 where the GPU has none, else float32), float32, bfloat16 or float16"
    )
    seed: int = setting(0, "salts the content hash, so another seed takes another sample", int)
    batch: int | None = setting(
        None,
        "tokens of one forward pass (default 512 on a CPU, 16384 on a GPU, there fewer where --max-length is above 512)",
        int,
    )
    workers: int | None = setting(None, "processes of this machine that share the work (default: one does all)", int)
    scheduler: str | None = setting(
        None, "address of a dask scheduler whose workers share the work, such as tcp://host:8786, instead of --workers"
    )
    text: str = setting("text", "name of the text column of the data")
    label: str = setting("label", "name of the label column of the data, if it has one")
    sentence_split: str = setting(
        AUTO,
        "what splits a text into sentences: auto (nupunkt in Latin and Cyrillic script, sentencex in others), lines (the text has one "
        "in each line), or none (each text is one)",
    )
    data_split: str | None = setting(
        None,
        "split of a data set of the hub, or of a folder, such as validation (default train, or in a folder the only one)",
    )
    first: str | None = setting(
        None,
        "read only the first so many reviews of the data, from the hub as a stream: no more is downloaded, and the sample is of these; or all "
        "(default all, but of a data set of the hub with more than 1 GB what the budget takes)",
    )
    split: str | None = setting(
        None,
        "short for --sentence-split where it is auto, lines or none, and for --data-split where it is anything else",
    )
    stage: str = setting(
        "all",
        "all, or projections: make the pictures that a stored corpus lacks, and encode no more sentences",
    )
    views: str = setting(
        ",".join(DEFAULT_VIEWS), "pictures to make, <projection>-<normalization>-<2d or 3d>, with commas between"
    )
    importance: int = setting(
        0,
        "sentences on which head importance is computed: the loss with each head silenced, for a model that predicts words "
        "or labels; costs one forward pass over them per head; 0 computes none",
        int,
    )
    annotate: str = setting(
        "auto",
        "words and grammar of the sentences: auto (gold where the data is a treebank; for English a packaged spaCy pipeline), the "
        "package of another spaCy pipeline, or none",
    )
    probes: str = setting(
        "auto",
        "governors found from attention by trained probes: auto (of silver annotation on few sentences), all (on as many as of gold), or none",
    )
    mixing: str = setting(
        AUTO,
        "what context mixing (GlobEnc) follows from, 8% more bytes a token: auto, or none",
    )
    points: str = setting(
        "standard",
        "feature points: standard, 2 and 3 a layer, or fine, 5 a layer with both residual sums and the feed-forward network",
    )
    features: str = setting(
        ",".join(DEFAULT_FEATURES),
        "pictures of the feature points to make, <pca, umap or tsne>-<joint, each or a point such as L00.head_outputs>, with commas "
        "between; none makes no feature points",
    )
    reviews: str | None = setting(
        None,
        "reviews that are read whole at every feature point, by index in the data, with commas between, or none "
        f"(default {DEFAULT_REVIEW} where the data has it)",
    )
    metric: str = setting(
        "euclidean",
        "distance whose neighbours UMAP and t-SNE of feature points keep, euclidean or cosine; where a larger corpus or --points=fine "
        "changes the feature points, existing pictures are recomputed with the new settings",
    )
    neighbors: int = setting(
        15, f"neighbours that UMAP of feature points looks at, 2 to {MOST_NEIGHBORS}; see --metric", int
    )
    min_dist: float = setting(
        0.1, "smallest distance of two feature points in a UMAP picture (its min_dist), 0 to 1; see --metric", float
    )

    def __post_init__(self) -> None:
        self._name_split()
        parse_first(self.first)
        for name in ("sentences", "tokens", "batch", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise IngestError(f"--{name.replace('_', '-')}={value} is too few. Give at least 1.")
        if self.importance < 0:
            raise IngestError(f"--importance={self.importance} is too few. Give a number of sentences, such as 100.")
        if self.sentences is not None and self.tokens is not None:
            raise IngestError("--sentences and --tokens both limit the corpus. Give one of them.")
        if self.workers is not None and self.scheduler is not None:
            raise IngestError("--workers and --scheduler both say what shares the work. Give one of them.")
        if not -(1 << 63) <= self.seed < 1 << 63:
            raise IngestError(f"--seed={self.seed} is beyond 64 bits. Give a smaller one.")
        if self.max_length < 3:
            raise IngestError(
                f"--max-length={self.max_length} leaves no room between the special tokens. Give at least 3."
            )
        if self.stage not in STAGES:
            raise IngestError(f"--stage={self.stage} is not known. Give one of {', '.join(STAGES)}.")
        if not self.view_names:
            raise IngestError("--views names no view. Give at least one, such as pca-exact-2d.")
        if self.vector_tokens is not None and self.vector_tokens < 1:
            raise IngestError(f"--vectors={self.vectors} is too few. Give at least 1, or all.")
        self._check_features()

    def _name_split(self) -> None:
        """Give the meaning of --split to the setting that it is short for."""
        if self.split is not None:
            name = "sentence_split" if self.split in SENTENCE_SPLITS else "data_split"
            if getattr(self, name) not in (AUTO, None, self.split):
                flag = f"--{name.replace('_', '-')}"
                raise IngestError(f"--split={self.split} and {flag}={getattr(self, name)} differ. Give one of them.")
            object.__setattr__(self, name, self.split)
            object.__setattr__(self, "split", None)
        if self.sentence_split not in SENTENCE_SPLITS:
            raise IngestError(
                f"--sentence-split={self.sentence_split} is not known. Give one of {', '.join(SENTENCE_SPLITS)}."
            )

    def _check_features(self) -> None:
        if self.points not in POINTS:
            raise IngestError(f"--points={self.points} is not known. Give {' or '.join(POINTS)}.")
        if self.probes not in PROBES:
            raise IngestError(f"--probes={self.probes} is not known. Give one of {', '.join(PROBES)}.")
        if self.mixing not in MIXING:
            raise IngestError(f"--mixing={self.mixing} is not known. Give one of {', '.join(MIXING)}.")
        if self.metric not in METRICS:
            raise IngestError(f"--metric={self.metric} is not known. Give {' or '.join(METRICS)}.")
        if self.neighbors < 2:
            raise IngestError(f"--neighbors={self.neighbors} is too few. Give at least 2.")
        if self.neighbors > MOST_NEIGHBORS:
            raise IngestError(f"--neighbors={self.neighbors} is too many. Give at most {MOST_NEIGHBORS}.")
        if not 0 <= self.min_dist <= 1:
            raise IngestError(f"--min-dist={self.min_dist:g} is not between 0 and 1. Give one such as 0.1.")
        if not self.feature_names and self.features != NONE:
            raise IngestError("--features names no picture. Give at least one, such as pca-joint, or none.")
        if not self.review_numbers and self.reviews != NONE:
            raise IngestError("--reviews names no review. Give at least one, such as 3, or none.")

    @property
    def vector_tokens(self) -> int | None:
        """Tokens whose vectors are stored; None for all."""
        if self.vectors == EVERY:
            return None
        tokens = whole_number(self.vectors)
        if tokens is None:
            raise IngestError(
                f"--vectors={short(self.vectors)} is no number of tokens. Give one, such as 200000, or all."
            )
        return tokens

    @property
    def feature_names(self) -> list[ViewName]:
        """Names of the pictures of feature points."""
        names = [] if self.features == NONE else self.features.split(",")
        try:
            return [ViewName.parse_points(name.strip()) for name in names if name.strip()]
        except ValueError as error:
            raise IngestError(f"{error}. Give some such as --features=pca-joint,umap-each.") from error

    @property
    def review_numbers(self) -> list[int]:
        """Indices of the whole reviews, or the default."""
        if self.reviews is None:
            return [DEFAULT_REVIEW]
        written = [] if self.reviews == NONE else self.reviews.split(",")
        numbers = [whole_number(number.strip()) for number in written if number.strip()]
        if None in numbers:
            raise IngestError(
                f"--reviews={short(self.reviews)} is no list of indices. Give some such as --reviews=3,17, or none."
            )
        return [number for number in dict.fromkeys(numbers) if number is not None]

    @property
    def view_names(self) -> list[ViewName]:
        """Names of the pictures of heads."""
        try:
            return [ViewName.parse(name.strip()) for name in self.views.split(",") if name.strip()]
        except ValueError as error:
            raise IngestError(f"{error}. Give some such as --views=pca-exact-2d,tsne-raw-3d.") from error


def parse_first(first: str | None) -> int | None:
    """Reviews that --first names; None for all, and where it is left out."""
    if first in (None, EVERY):
        return None
    reviews = whole_number(first)
    if not reviews:
        raise IngestError(f"--first={short(first)} is no number of reviews. Give one, such as 50000, or all.")
    return reviews


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Settings from command line flags."""
    description = "Run an encoder over the sentences of a corpus and write the store."
    return parse_flags(Settings, arguments, command="headscape ingest", description=description)


@dataclass(frozen=True)
class Limits:
    """The limits of an ingest; tests hand in smaller ones.

    Attributes
    ----------
    block
        Rows of the token axis that a block has.
    part_characters
        Characters of the reviews that a process splits at a time. Fewer than two parts are split in the process of the ingest.
    fit_tokens
        Most tokens of the first whole sentences that normalisations and pictures are fitted on, a uniform sample of the corpus.
    judged_sentences
        Number of sentences that judge a fit.
    head_tokens
        Most tokens that a picture of heads by neighbours is fitted on.
    attention_steps
        Steps of the training of a picture of heads on attention. A thousand took longer, and no measure of a picture differed by more
        than 0.005.
    map_fits, map_steps
        Fits of the map of the heads, of which the best is kept, and steps of each: as many as Clark et al. (2019, General_Analysis).
    few_tokens
        Number of tokens up to which all are fitted, in pictures of feature points and of values.
    largest_feature
        Numbers of feature points beyond it are clipped: the largest of float16.
    random_tokens
        Number of tokens in the first blocks, on which the model with random weights is run.
    rule_fit_sentences, rule_judged_sentences
        Sentences of one half of the corpus that rules and roles of heads are fitted on, and sentences of the other that judge them;
        with 0 no roles are computed.
    rule_weights
        Most attention weights of a head in the sentences of the fit: the memory of the fit.
    table_tokens
        Most tokens of the first whole sentences that tables of heads are made of.
    random_sentences
        Sentences of the fit on which roles are tested with random weights.
    answer_seconds, first_worker_seconds
        Seconds in which a scheduler must answer, and in which at least one worker must have come.
    worker_deaths
        Workers that may die of one task while no task ends at all: with more, the task itself kills them. With workers that are
        killed every few seconds, whatever they do, a long task may need nearly as many until one lives long enough.
    """

    block: int = BLOCK
    part_characters: int = 1 << 21
    fit_tokens: int = 20_000
    judged_sentences: int = 100
    head_tokens: int = 500
    attention_steps: int = 700
    map_fits: int = 5
    map_steps: int = 1000
    few_tokens: int = 512
    largest_feature: float = float(np.finfo(np.float16).max)
    random_tokens: int = 20_000
    rule_fit_sentences: int = 100
    rule_judged_sentences: int = 200
    rule_weights: int = 150_000
    table_tokens: int = 120_000
    random_sentences: int = 100
    answer_seconds: float = 10
    first_worker_seconds: float = 30
    worker_deaths: int = 20


#: The limits of every ingest that a command runs.
USUAL = Limits()
