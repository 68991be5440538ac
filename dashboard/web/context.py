"""What a link means in the store: the state within the bounds of a corpus, and the snapshot and model it is of."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from dashboard.web.errors import remedy_text
from dashboard.web.library import Library
from dashboard.web.link_reader import LinkReader
from dashboard.web.paths import first_page, links_of, page_name, page_of, page_of_fields
from dashboard.web.state import (
    FIELDS,
    OF_SNAPSHOT,
    OF_WORDS,
    TRIAL,
    WITHIN,
    LinkState,
    Of,
    Within,
    head_numbers,
)
from store import STATISTICS, Corpus, Snapshot, StoreError
from store.features import Features
from store.repository.errors import SnapshotNotFound
from store.repository.ingest_status import IngestProgress
from store.schema.features import stored_point
from store.schema.model import varying_statistics
from store.schema.pictures import JOINT

#: Characters of a link.
MAX_QUERY = 8_000
#: Fields of feature points: the bounds of one depend on another.
_OF_FEATURE_POINTS = ("material", "vectors", "fview", "point", "fcolour", "fonly", "ftoken", "flasso", "fit")
#: Fields that `LinkReader.read` alone does not read.
_READ_APART = ("model", "snapshot", "view", "pinned", "text", "second", "statistic", "other", *_OF_FEATURE_POINTS)
_SIMPLE = tuple(name for name in FIELDS if name not in _READ_APART)

T = TypeVar("T")
Bounds = Mapping[Of, range | tuple[str, ...]]


@dataclass(frozen=True)
class Context:
    """What a link shows: its state, the snapshot and the model, and notices on what of the link was changed."""

    state: LinkState
    snapshot: Snapshot
    corpus: Corpus
    notices: tuple[str, ...]
    library: Library
    ingest: IngestProgress | None = None
    #: A notice where the snapshot of the link or of the tab is not there, so that the newest is shown.
    missing_snapshot: str | None = None
    #: Whether the link names a page, a model and a snapshot at most.
    bare: bool = False
    #: Whether the page has chosen what a bare link leaves open: the browser then completes the link.
    completed: bool = False
    #: Whether numbers of a part are of the first tokens of a large corpus alone.
    first: bool = False
    _shared: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def share(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What several parts of one page need: the result of the first `compute` for this key."""
        if key not in self._shared:
            self._shared[key] = compute()
        return self._shared[key]

    @property
    def view(self) -> str:
        """Name of the view that is shown."""
        return self.state.view or self.corpus.views[0]

    @property
    def has_no_vectors(self) -> bool:
        """Whether the sentence of the link is one of the corpus whose vectors are not stored."""
        return self.state.text is None and self.state.sentence >= self.corpus.n_sentences


def resolve(library: Library, pathname: str | None, search: str | None, standing: str | None = None) -> Context:
    """What a link means in a tab that shows the snapshot `standing`. Raises StoreError only where nothing can be shown."""
    notices: list[str] = []
    written = _written(search or "", notices)
    page = _page(pathname, written, notices)
    snapshot, missing = _snapshot(library, written.get("snapshot"), standing)
    corpus = _corpus(snapshot, written.get("model"), notices)
    ingest = library.ingest
    reader = LinkReader(written, bounds_of(snapshot, corpus, page), notices)
    state = LinkState(
        page=page,
        model=corpus.name if len(snapshot.models) > 1 or written.get("model") == corpus.name else None,
        snapshot=snapshot.id if snapshot.id == written.get("snapshot") else None,
        view=_view(reader, ingest),
        other=_other(reader, page, corpus),
        **_values(reader),
        **_of_feature_points(reader, corpus, page),
    )
    return Context(state, snapshot, corpus, tuple(notices), library, ingest, missing, _is_bare(written))


def bounds_of(snapshot: Snapshot, corpus: Corpus, page: str) -> Bounds:
    """The bounds that the model and its corpus set, for a page; without those of a token set."""
    longest = int(corpus.corpus_attributes["max_length"])
    return {
        Of.MODELS: tuple(snapshot.models),
        Of.LAYERS: range(corpus.layers),
        Of.HEADS: range(corpus.heads),
        Of.TOKENS: range(corpus.n_tokens),
        Of.VIEWS: tuple(corpus.views),
        Of.MATCHES: matches_of(corpus),
        Of.SENTENCES: range(corpus.n_sentences if links_of(page).stored_sentences else corpus.counted_sentences),
        Of.COUNTED_SENTENCES: range(corpus.counted_sentences),
        Of.POSITIONS: range(int(corpus.attributes["config"].get("max_position_embeddings", longest))),
        Of.LENGTHS: range(1, longest + 1),
        Of.LABELS: tuple(corpus.label_names),
        Of.STATISTICS: tuple(STATISTICS),
        Of.OTHER_MODELS: tuple(_other_models(snapshot, corpus, page)),
        Of.TOKEN_SETS: tuple(corpus.token_sets),
    }


def matches_of(corpus: Corpus) -> tuple[Within, ...]:
    """How the text of a search can be matched in a corpus."""
    return tuple(match for match in WITHIN if corpus.has_words or match not in OF_WORDS)


def feature_bounds(corpus: Corpus, features: Features, layer: int | None) -> Bounds:
    """The bounds that a token set and the layer of its values set; of values there is no trial."""
    return {
        Of.VALUE_LAYERS: tuple(map(str, value_layers(features))),
        Of.FEATURE_VIEWS: (*feature_views(features, layer), *([TRIAL] if layer is None else [])),
        Of.FEATURE_PANELS: feature_panels(corpus, features, layer),
        Of.FEATURE_COLUMNS: feature_columns(features),
        Of.FEATURE_TOKENS: range(features.n_tokens),
        Of.TRIAL_FITS: (JOINT, *features.points),
    }


def comparable(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that have as many layers and heads."""
    others = [snapshot.corpus(name) for name in snapshot.models if name != corpus.name]
    return [other.name for other in others if (other.layers, other.heads) == (corpus.layers, corpus.heads)]


def on_same_corpus(snapshot: Snapshot, corpus: Corpus) -> list[str]:
    """Keys of the other models of a snapshot that were run on the same corpus."""
    own = corpus.attributes["corpus"]
    return [name for name, model in snapshot.models.items() if model["corpus"] == own and name != corpus.name]


def other_model(context: Context) -> Corpus | None:
    """The model that the link's is compared with on page Compare, by default the last ingested on the same corpus."""
    others = on_same_corpus(context.snapshot, context.corpus)
    other = context.state.other or next(iter(others), None)
    return context.snapshot.corpus(other) if other else None


def short_name(corpus: Corpus) -> str:
    """The last part of the model's name, and what tells it apart from another of that name."""
    name = str(corpus.attributes["model_id"])
    return corpus.title if corpus.title != name else name.rpartition("/")[2]


def names_of(own: Corpus, other: Corpus) -> tuple[str, str]:
    """The names of two models; whole ones where their last parts are the same."""
    names = [short_name(model) for model in (own, other)]
    return (names[0], names[1]) if names[0] != names[1] else (own.title, other.title)


def value_layers(features: Features) -> list[int]:
    """Layers of whose values there is a picture."""
    views = (features.value_view(name) for name in features.value_views)
    return sorted({int(layer) for view in views for layer in view.attrs["layers"]})


def feature_views(features: Features, layer: int | None) -> list[str]:
    """Names of the pictures of all feature points, or of the values of a layer; the default first."""
    if layer is None:
        return features.views
    return [name for name in features.value_views if layer in features.value_view(name).attrs["layers"]]


def feature_panels(corpus: Corpus, features: Features, layer: int | None) -> tuple[str, ...]:
    """Names of the panels: feature points, or the heads `H3` whose values are drawn."""
    return features.points if layer is None else tuple(f"H{head}" for head in range(corpus.heads))


def feature_columns(features: Features) -> tuple[str, ...]:
    """Names of what tokens can be coloured by, without reading it."""
    label = ("label",) if features.label_names else ()
    prediction = () if features.class_probability is None else ("prediction",)
    correct = ("correct",) if predicts_labels(features) else ()
    return ("kind", "wordpiece", "position", *label, "sentence", *prediction, *correct)


def predicts_labels(features: Features) -> bool:
    """Whether the model predicts the labels of the reviews."""
    if features.class_probability is None or not features.label_names:
        return False
    return set(features.label_names) <= set(map(str, features.class_probability["class"].values))


def _written(search: str, notices: list[str]) -> dict[str, str]:
    """The fields of a link as they are written in it."""
    if len(search) > MAX_QUERY:
        notices.append(f"The link is longer than {MAX_QUERY:,} characters; ignoring the rest")
    return dict(parse_qsl(search[:MAX_QUERY].lstrip("?"), max_num_fields=None))


def _page(pathname: str | None, written: Mapping[str, str], notices: list[str]) -> str:
    """The page of a link. Before there was a first page, all heads were it: links such as `/?colour=norm` show them."""
    name = page_name(pathname or "/")[:80]
    if page := page_of(name):
        return page
    if name:
        notices.append(f"Unknown page: {name}; showing the {first_page()}")
    return first_page() if name or _is_bare(written) else page_of_fields()


def _is_bare(written: Mapping[str, str]) -> bool:
    return not written.keys() & (FIELDS.keys() - OF_SNAPSHOT)


def _snapshot(library: Library, named: str | None, standing: str | None) -> tuple[Snapshot, str | None]:
    """The snapshot that a link names, else that of the tab; where it is not there, the newest with a notice."""
    name = (named or standing or "")[:80]
    if not name:
        return library.snapshot(), None
    try:
        return library.snapshot(name), None
    except SnapshotNotFound:
        missing = f"This store has no snapshot {name}" if named else "The snapshot that this tab showed was deleted"
        return library.snapshot(), f"{missing}; showing the newest."
    except StoreError as error:
        return library.snapshot(), f"{error} Showing the newest."


def _corpus(snapshot: Snapshot, model: str | None, notices: list[str]) -> Corpus:
    if model and model not in snapshot.models:
        notices.append(f"Unknown model: {model[:80]}; showing the one ingested last")
    return snapshot.corpus(model if model in snapshot.models else None)


def _values(reader: LinkReader) -> dict[str, Any]:
    """Every field that neither depends on the other models nor on feature points."""
    values = {name: reader.read(name) for name in _SIMPLE}
    values["text"], values["second"] = reader.typed_pair()
    values["statistic"] = _statistic(reader, values["source"])
    values["pinned"] = _pinned(reader)
    return values


def _view(reader: LinkReader, ingest: IngestProgress | None) -> str | None:
    """A view other than the default."""
    name, views = reader.written.get("view"), reader.bounds[Of.VIEWS]
    if name and name not in views:
        shown = "; showing the most faithful view" if views else "; there is no view yet"
        remedy = remedy_text(ingest, "Run `headscape projections --views=...` to add it.")
        reader.notices.append(f"Unknown view: {name[:80]}{shown}. {remedy}")
    return name if name in views[1:] else None


def _pinned(reader: LinkReader) -> str | None:
    """A head of the model, such as `3-7`."""
    heads = head_numbers(reader.read("pinned"))
    if heads is None:
        return None
    layers, of_layer = reader.bounds[Of.LAYERS], reader.bounds[Of.HEADS]
    if heads[0] in layers and heads[1] in of_layer:
        return "-".join(map(str, heads))
    there = f"layers 0-{len(layers) - 1}, heads 0-{len(of_layer) - 1}"
    reader.notices.append(f"pinned={reader.written['pinned']} is not a head of the model ({there}); ignoring it")
    return None


def _statistic(reader: LinkReader, source: str) -> str | None:
    """A statistic in which heads differ over these queries; None where the page chooses one."""
    name: str | None = reader.read("statistic")
    if name is None or name in varying_statistics(source):
        return name
    reader.notices.append(
        "Over all queries, attention received is 1 in every head; showing another statistic. Choose other queries."
    )
    return None


def _other_models(snapshot: Snapshot, corpus: Corpus, page: str) -> list[str]:
    """Models that the page can show beside the link's; another page keeps any that some page can."""
    if of_page := links_of(page).other_models:
        return of_page(snapshot, corpus)
    return [*on_same_corpus(snapshot, corpus), *comparable(snapshot, corpus)]


def _other(reader: LinkReader, page: str, corpus: Corpus) -> str | None:
    name = reader.written.get("other")
    if name is None or name in reader.bounds[Of.OTHER_MODELS]:
        return name
    if name == corpus.name:
        reader.notices.append("A model cannot be compared with itself. Choose another one.")
        return None
    reader.notices.append(f"There is no other model {name[:80]} {links_of(page).other_models_are}; ignoring it")
    return None


def _of_feature_points(reader: LinkReader, corpus: Corpus, page: str) -> dict[str, Any]:
    """The fields of feature points; none where the store has none."""
    if not corpus.token_sets:
        return {}
    sample = corpus.token_sets[0]
    written = _of_sample(reader.written, sample) if links_of(page).sample else reader.written
    reader = replace(reader, written=_stored_points(written))
    token_set = reader.read("material") or sample
    features = corpus.features(token_set)
    reader = _bounded(reader, feature_bounds(corpus, features, None))
    vectors = reader.read("vectors")
    layer = None if vectors is None else int(vectors)
    reader = _bounded(reader, feature_bounds(corpus, features, layer))
    own = {name: reader.read(name) for name in ("fview", "point", "fcolour", "fonly", "ftoken", "flasso", "fit")}
    return own | {"material": None if token_set == sample else token_set, "vectors": layer}


def _bounded(reader: LinkReader, more: Bounds) -> LinkReader:
    return replace(reader, bounds={**reader.bounds, **more})


def _stored_points(written: Mapping[str, str]) -> dict[str, str]:
    """Feature points have two names in links: `L00.layer_output`, and as in the store, `L00.feedforward`."""
    stored = dict(written)
    for name in stored.keys() & {"point", "fit"}:
        stored[name] = stored_point(stored[name])
    if (fitted := stored.get("fview", "").partition("-"))[2]:
        stored["fview"] = f"{fitted[0]}-{stored_point(fitted[2])}"
    return stored


def _of_sample(written: Mapping[str, str], sample: str) -> dict[str, str]:
    """Without the fields of a review, of values and of a trial."""
    of_review = ("fonly", "ftoken", "flasso") if written.get("material", sample) != sample else ()
    of_values = ("fview", "point") if "vectors" in written else ()
    of_trial = ("fview",) if written.get("fview") == TRIAL else ()
    left_out = {"material", "vectors", *of_review, *of_values, *of_trial}
    return {name: text for name, text in written.items() if name not in left_out}
