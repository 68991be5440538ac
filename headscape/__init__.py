"""Headscape in a notebook: open a store, show the picture of a head, show a sentence, replace heads, read the notes of a server.

`open` gives a `store.Corpus`, whose arrays are labelled. `show` and `sentence` give plotly figures, which a notebook
draws. Imports nothing slow, and no package of Headscape before `check_packages`: every process of the command `headscape`
imports this file first, and a file or a folder of the reader may have the plain name of a package.
"""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pandas import DataFrame
    from plotly.graph_objects import Figure
    from xarray import DataArray, Dataset

    from dashboard.notebook.widget import Widget
    from dashboard.web.state import Instead
    from headscape.corpus import PicturedCorpus
    from store import Corpus

__all__ = [
    "alike",
    "context_mixing",
    "headvis_metrics",
    "match",
    "notes",
    "open",
    "read_headvis",
    "replace",
    "replace_more",
    "sentence",
    "show",
]

_ROOT = Path(__file__).resolve().parents[1]


def open(  # noqa: A001
    path_or_url: "str | PathLike[str]", model: str | None = None, *, snapshot: str | None = None
) -> "PicturedCorpus":
    """Open one model of a store on its corpus: its arrays, and widgets of them (`headscape.corpus.PicturedCorpus`).

    Parameters
    ----------
    path_or_url
        Folder, `s3://bucket/prefix` or `gs://bucket/prefix`.
    model
        Key or name of a model in the store; None for the model ingested last.
    snapshot
        Id of an older publication; None for the newest.

    Raises
    ------
    StoreError
        With a sentence that ends in what to do next.
    ImportError
        Where a file in the folder that Python runs in has the name of a package of Headscape.
    """
    check_packages("store")
    from headscape.corpus import PicturedCorpus
    from store import open_snapshot

    corpus = open_snapshot(path_or_url, snapshot, PicturedCorpus).corpus(model)
    assert isinstance(corpus, PicturedCorpus)
    return corpus


def show(corpus: "Corpus", layer: int, head: int, *, view: str | None = None, tokens: int = 2_000) -> "Figure":
    """The picture of `corpus.show`, with the same parameters, as a plotly figure, which needs no widgets."""
    from headscape.corpus import head_figure

    return head_figure(corpus, layer, head, view=view, tokens=tokens)


@overload
def sentence(corpus: "Corpus", index: int, /, layer: int, head: int, first: int = 0) -> "Figure": ...


@overload
def sentence(
    model: Any,
    tokenizer: Any = None,
    text: str = "",
    other: str | None = None,
    *,
    show: str = "head",
    layer: int = 0,
    heads: "Sequence[int] | None" = None,
    first: int = 0,
) -> "Widget": ...


def sentence(model: Any, *given: Any, **options: Any) -> "Figure | Widget":
    """The attention of a model in a text or a pair of texts, as a widget; no store and no ingest is needed. Needs the extra `notebook`.

    With a corpus, the index of a sentence, a layer and a head: a plotly figure of its weights, as before; `corpus.sentence` is the widget.

    Parameters
    ----------
    model, tokenizer
        Objects of transformers, of any family that the ingest reads; or a folder or a name, with the tokenizer of the
        checkpoint unless one is given. The model is not changed.
    text, other
        A sentence, and a second one that the model reads with it.
    show
        The first view: `head`, `model`, `matrix` or `neuron`.
    layer, heads
        The first layer, and the heads whose lines are drawn, 0-based; None for all.
    first
        In a text of more than 128 tokens, the first of the 128 shown tokens.

    Raises
    ------
    IngestError, StoreError
        With a sentence that ends in what to do next.
    """
    check_packages("store", "dashboard", "ingest")
    from store import Corpus

    if isinstance(model, Corpus):
        from headscape.corpus import sentence_figure

        return sentence_figure(model, *given, **options)
    found = _find(model)
    from headscape.own_model import own_widget

    return own_widget(found, model, *given, **options)


def context_mixing(
    model: Any, tokenizer: Any, text: str, *, method: str = "globenc", rolled_out: bool = False
) -> "DataArray":
    """Share of each token's vector from each token of a text (layer, query_token, key_token); rows sum to 1.

    Parameters
    ----------
    model, tokenizer, text
        See `sentence`; the tokenizer may be None where the model is a folder or a name.
    method
        One of `store.schema.mixing.METHODS`; for models with the layers of a BERT also `alti`, `value_zeroing` or `decompx`, which
        gives the parts of the input tokens after each layer. See `ingest.encode.decomposition`.
    rolled_out
        Shares of the input tokens after each layer, the product of the matrices up to it.

    Raises
    ------
    IngestError
        With a sentence that ends in what to do next.
    """
    found = _find(model)
    from headscape.arrival import context_mixing as mixed

    return mixed(model, tokenizer, text, method=method, rolled_out=rolled_out, found=found)


def alike(model: Any, tokenizer: Any, first: str, second: str) -> "DataArray":
    """Why two texts are alike: the cosine of their mean vectors, split over pairs of their tokens (first_token, second_token).

    By DecompX (Modarressi et al. 2023): each mean vector is a sum over the tokens of its text, so the products sum to the cosine.
    For parameters and errors see `context_mixing`.
    """
    found = _find(model)
    from headscape.arrival import alike as split

    return split(model, tokenizer, first, second, found=found)


def _find(model: Any) -> Any:
    """The checkpoint of a folder or a name, found before slow imports, as a name may be wrong."""
    check_packages("store", "dashboard", "ingest")
    from store.process import check_extra

    check_extra("notebook")
    from ingest.run.checkpoint import find_checkpoint

    return find_checkpoint(str(model)) if isinstance(model, str | Path) else None


def replace(
    corpus: "Corpus", heads: "Sequence[tuple[int, int]]", instead: "Instead" = "rule", *, sentences: int = 100
) -> "Dataset":
    """Changes over a sample of the corpus where the attention of heads is replaced. Needs the extras `ingest` and `dashboard`.

    Parameters
    ----------
    heads
        Layer and head of each replaced head.
    instead
        `rule`: attend as the rules of the head predict; `mean`: as on average; `even`: evenly; `off`: nothing.
    sentences
        Most sentences of the sample, from those that no rule was fitted on.

    Returns
    -------
    `change`, 1 - cosine of the sentence vectors, mean with its 95% `interval` (bound); `distance`, the same of two different
    sentences, and the `share` of it; `spearman` of the similarities before and after; share with the same `nearest` sentence;
    `linked` (when), pairs of words that later heads link, and by relation `before` and `after`. Of a model that predicts
    hidden wordpieces `hidden_loss` (when), mean in nats.

    Raises
    ------
    StoreError
        With a sentence that ends in what to do next.
    """
    check_packages("store", "dashboard")
    from dashboard.sentence.replace import replace_heads

    return replace_heads(corpus, heads, instead, sentences).labelled()


def replace_more(corpus: "Corpus", instead: "Sequence[Instead]" = ("rule",), *, sentences: int = 100) -> "Dataset":
    """Changes as of `replace` for 0, 10, 25, 50, 75 and 100% of the heads, in every order that the store knows.

    Parameters
    ----------
    instead
        One or more values of `instead` of `replace`.
    sentences
        Most sentences of the sample, from those that no rule was fitted on.

    Returns
    -------
    (instead, order, share): `change` with its 95% interval `low` and `high`, the share `of_distance`, `spearman`, `nearest` and
    `hidden_loss` as in `replace`, NaN where there is none; `heads` (share). `order` is of "explained", "unimportant", "random".

    Raises
    ------
    StoreError
        With a sentence that ends in what to do next.
    """
    check_packages("store", "dashboard")
    from dashboard.sentence.curve import curve_dataset
    from dashboard.sentence.replace import replace_more as measured

    return curve_dataset(measured(corpus, instead, sentences))


def match(corpus: "Corpus", other: "Corpus") -> "DataFrame":
    """Heads of a model with the head of another model that attends most alike, on the same tokens. Needs the extra `dashboard`.

    Returns
    -------
    Columns layer, head, name, other_layer, other_head, other_name, divergence: Jensen-Shannon divergence of attention weights in
    nats, mean over the queries of a sentence, then over sentences. Partners have the least sum of divergences, each head in one pair
    at most; a head without one has NaN and an empty name.

    Raises
    ------
    StoreError
        Where the models were not ingested on the same tokens.
    """
    check_packages("store", "dashboard")
    from store import Corpus, StoreError
    from store.process import check_extra

    for each in (corpus, other):
        if not isinstance(each, Corpus):
            raise StoreError(f"{each!r} is no opened model. Open one with headscape.open.")
    check_extra("dashboard")
    from dashboard.compare.matching import match as matched

    return matched(corpus, other)


def headvis_metrics(corpus: "Corpus", sentences: int | None = None) -> "Dataset":
    """The six metrics of HeadVis for every head of an opened store (layer, head), by the definitions of Neuronpedia.

    `sentences` is the number of first sentences that count; None for all with vectors. Means are over tokens, not over sentences.
    """
    check_packages("store")
    from store.headvis import headvis_metrics as measured

    return measured(corpus, sentences)


def read_headvis(folder: "str | Path") -> "Dataset":
    """The six metrics of another model's heads, from a tree of HeadVis, or from a file of metrics of Neuronpedia.

    `xarray.concat([headscape.headvis_metrics(corpus), headscape.read_headvis(folder)], "model")` has both.

    Raises
    ------
    StoreError
        With a sentence that ends in what to do next.
    """
    check_packages("store")
    from store.headvis import read_headvis as read

    return read(folder)


def notes(
    path_or_url: "str | PathLike[str]" = "data/headscape", notes: "str | PathLike[str] | None" = None
) -> "DataFrame":
    """The notes of a server as a table, a note or reply per row, the newest first. Needs the extra `dashboard`.

    Parameters
    ----------
    path_or_url
        The store that the notes are about.
    notes
        The database of notes where it is not beside the store; see flag `--notes` of `headscape serve`.

    Returns
    -------
    Columns id, kind, target, title, text, tags, author, created, edited, parent, imported_by, model, model_name, corpus, corpus_name.
    A target of kind `head` is `head/<SHA-256 of the weights>/<layer>/<head>`; docs/notes.md has all kinds.
    """
    check_packages("store", "dashboard")
    from store.process import check_extra

    check_extra("dashboard")
    from dashboard.notes.search import notes_frame

    return notes_frame(fspath(path_or_url), None if notes is None else fspath(notes))


def check_packages(*names: str) -> None:
    """Raise ImportError with the file that hides a package of Headscape.

    A folder without Python's `__init__.py`, such as one of data, is no obstacle: in a clone it hides a package all the
    same, so the package is imported here from its file.
    """
    for name in names:
        spec = _found(name)
        if spec is not None and spec.origin is None:
            _import_own(name)
        elif spec is not None and Path(str(spec.origin)).resolve().parent != _ROOT / name:
            raise ImportError(
                f"{spec.origin} hides the package {name!r} of Headscape. Rename it, or start Python in another folder.",
                name=name,
                path=spec.origin,
            )


def _found(name: str) -> ModuleSpec | None:
    """The module that `import` of the name finds; None for a module without a spec, which a script has made."""
    try:
        return find_spec(name)
    except ValueError:
        return None


def _import_own(name: str) -> None:
    spec = spec_from_file_location(name, _ROOT / name / "__init__.py")
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
