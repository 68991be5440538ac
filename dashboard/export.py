"""`headscape export STORE --out=FOLDER`: heads as files of other tools, a tree of HeadVis or a data set of `datasets`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.publish import STORE, Telling, count, run_writing
from store.process import check_extra, end
from store.repository.errors import StoreError, check_head

if TYPE_CHECKING:
    from dashboard.exchange.files import HeadOfSentences
    from dashboard.published.folder import SiteFolder
    from dashboard.published.provenance import Terms
    from store import Corpus

FORMATS = ("headvis", "datasets")
#: Steps of the progress line.
STEPS = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status, see `run_writing`."""
    return run_writing("export", _parser(), arguments, _export)


def _export(store: str, place: Path, options: argparse.Namespace) -> str:
    """Write the folder; returns a sentence on what it holds."""
    for extra in ("dashboard", *(["ingest"] if options.format == "datasets" else [])):
        check_extra(extra)
    from dashboard.published.folder import check_place, new_site
    from dashboard.published.provenance import terms_of
    from store import open_corpus

    command = "headscape export"
    check_place(place, command)
    corpus = open_corpus(store, model=options.model)
    licences = {"model": options.model_licence, "data": options.data_licence}
    terms = terms_of(corpus, licences, text=not options.no_text)
    sentences = min(options.sentences or corpus.n_sentences, corpus.n_sentences)
    with new_site(place, {"format": options.format, "model": corpus.name, **terms.facts}, command) as folder:
        if options.format == "headvis":
            said = _write_tree(corpus, folder, sentences, terms)
        else:
            said = _write_data_set(corpus, folder, _head(corpus, options, sentences), terms)
        return f"{place}: {said}, {sum(folder.sizes.values()) / 1e6:.1f} MB."


def _write_tree(corpus: "Corpus", folder: "SiteFolder", sentences: int, terms: "Terms") -> str:
    from dashboard.exchange.files import write_tree

    write_tree(corpus, folder, sentences, terms, _Told())
    without = "" if terms.text else ", without sentences and tokens"
    return f"{corpus.layers * corpus.heads:,} heads on {sentences:,} sentences as a tree of HeadVis{without}"


def _write_data_set(corpus: "Corpus", folder: "SiteFolder", of: "HeadOfSentences", terms: "Terms") -> str:
    from datasets import disable_progress_bars, enable_progress_bars

    from dashboard.exchange.files import data_set

    made = data_set(corpus, of, terms, _Told())
    disable_progress_bars()
    try:
        made.save_to_disk(str(folder.path))
    finally:
        enable_progress_bars()
    return f"{of.sentences:,} sentences with columns {', '.join(made.column_names)}, for `datasets.load_from_disk`"


class _Told:
    """Prints the running task and its progress."""

    def __init__(self) -> None:
        self._telling = Telling()

    def __call__(self, title: str, share: float) -> None:
        self._telling(title, round(STEPS * share), STEPS)


def _head(corpus: "Corpus", options: argparse.Namespace, sentences: int) -> "HeadOfSentences":
    from dashboard.exchange.files import HeadOfSentences

    if options.layer is None or options.head is None:
        raise StoreError("A data set is of one head. Give --layer and --head.")
    check_head(options.layer, options.head, layers=corpus.layers, heads=corpus.heads)
    return HeadOfSentences(options.layer, options.head, sentences, options.keys, options.vectors)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headscape export", description="Write heads of a store as files of HeadVis or of the package datasets."
    )
    parser.add_argument("place", nargs="?", metavar="STORE", help="the same as --store=STORE")
    parser.add_argument("--store", help=f"folder, s3://bucket/prefix or gs://bucket/prefix (default {STORE})")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="headvis: a tree of all heads, for HeadVis and Neuronpedia (default); datasets: one head, for datasets.load_from_disk",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the files go: a new or empty folder")
    parser.add_argument("--model", metavar="NAME", help="a model of the store (default: the one ingested last)")
    parser.add_argument(
        "--sentences", type=count, metavar="N", help="first sentences that count (default: all with vectors)"
    )
    parser.add_argument("--layer", type=int, metavar="L", help="datasets: layer of the head, from 0")
    parser.add_argument("--head", type=int, metavar="H", help="datasets: the head in its layer, from 0")
    parser.add_argument(
        "--keys", type=count, metavar="N", help="datasets: the N keys with most attention (default: all weights)"
    )
    parser.add_argument("--vectors", action="store_true", help="datasets: the query and key vectors too")
    parser.add_argument(
        "--no-text",
        action="store_true",
        help="leave out every sentence and wordpiece of a corpus that must stay private",
    )
    parser.add_argument("--model-licence", default="", metavar="TEXT", help="licence of the model")
    parser.add_argument("--data-licence", default="", metavar="TEXT", help="licence of the data")
    return parser


if __name__ == "__main__":
    end(main())
