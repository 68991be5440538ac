"""`headscape replace`: what changes over a sample of the corpus where heads are switched off, or attend by their rules."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from store import Corpus, open_corpus
from store.__main__ import STORE
from store.process import check_extra, end, until_pipe_closes
from store.replacement import INSTEAD, ORDERS, SENTENCES, Heads, checked_heads, ordered_heads
from store.repository.errors import StoreError, is_integer

if TYPE_CHECKING:
    from xarray import Dataset

    from dashboard.sentence.curve import Curve
    from dashboard.sentence.sample import SampleChange, Sampling, Watch
    from dashboard.web.state import Instead

T = TypeVar("T")
#: Width of the progress line, in columns.
LINE = 70
_HEADS = re.compile(r"\d{1,3}-\d{1,3}([.,]\d{1,3}-\d{1,3})*")


def replace_heads(
    corpus: Corpus,
    heads: Heads,
    instead: "Instead" = "rule",
    sentences: int = SENTENCES,
    watch: "Watch" = lambda _share, _title: None,
) -> "SampleChange":
    """Run the model of a corpus here, with all heads and with replaced heads; see `headscape.replace`."""
    chosen = checked_heads(corpus, heads)
    return _by_model(corpus, [instead], sentences, lambda sampling: sampling.measure(chosen, instead, watch))


def replace_more(
    corpus: Corpus,
    kinds: "Sequence[Instead]",
    sentences: int = SENTENCES,
    watch: "Watch" = lambda _share, _title: None,
) -> "list[Curve]":
    """Curves of the change as more and more heads are replaced, in every order that the store knows; see `headscape.replace_more`."""

    def measured(sampling: "Sampling") -> "list[Curve]":
        from dashboard.sentence.curve import known_orders, measure_curves, measured_by

        before = sampling.as_it_is(watch)
        return measure_curves(known_orders(corpus)[0], kinds, measured_by(sampling, lambda _: before), watch)

    return _by_model(corpus, kinds, sentences, measured)


def _by_model(corpus: Corpus, kinds: "Sequence[Instead]", sentences: int, measure: "Callable[[Sampling], T]") -> T:
    """The result of `measure` on a sample that the corpus' model encodes here; StoreError for invalid arguments."""
    for instead in kinds:
        if instead not in INSTEAD:
            raise StoreError(f"There is no replacement {instead!r}. Choose one of: {', '.join(INSTEAD)}.")
    if not is_integer(sentences):
        raise StoreError(f"The sentences of a sample are a whole number, not {sentences!r}. Give a number from 1.")
    if sentences < 1:
        raise StoreError(f"A sample of {sentences} sentences is too small. Give at least 1.")
    for extra in ("dashboard", "ingest"):
        check_extra(extra)
    from dashboard.sentence.encoder import Encoder
    from dashboard.sentence.sample import Sampling
    from dashboard.web.corpus_model import CorpusModel
    from dashboard.web.errors import Refusal

    encoder, model = Encoder(), CorpusModel.of(corpus)
    try:
        sampling = Sampling(
            corpus, lambda text, change: encoder.change(model, text, "", change, lambda: False), sentences
        )
        return measure(sampling)
    except Refusal as refusal:
        raise StoreError(str(refusal)) from refusal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: exit status 0, or 1 after a message on what to do next."""
    return until_pipe_closes(lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    try:
        corpus = open_corpus(options.store or options.place or STORE, model=options.model)
        said = _curve(corpus, options) if options.curve else _sample(corpus, options)
    except StoreError as error:
        print(f"replace: {error}", file=sys.stderr)
        return 1
    if sys.stderr.isatty():
        print(f"\r{'':{LINE}}\r", end="", file=sys.stderr)
    print(said)
    return 0


def _sample(corpus: Corpus, options: argparse.Namespace) -> str:
    """The numbers for some replaced heads, as text or JSON."""
    found = replace_heads(corpus, _heads(corpus, options), options.instead, options.sentences, _tell)
    return _as_json(found.labelled()) if options.json else _as_text(corpus, found)


def _curve(corpus: Corpus, options: argparse.Namespace) -> str:
    """The numbers for more and more replaced heads, as text or JSON; text also says why the store does not know some orders."""
    from dashboard.sentence.curve import curve_dataset, known_orders

    curves = replace_more(corpus, [options.instead], options.sentences, _tell)
    if options.json:
        return _as_json(curve_dataset(curves))
    return "\n".join([*_curve_lines(curves), *(f"{name}: {error}" for name, error in known_orders(corpus)[1].items())])


def _curve_lines(curves: "list[Curve]") -> list[str]:
    """A line of text for every point of the curves."""
    return [
        f"{curve.order}, {point.heads} heads: {100 * point.of_distance:.2f}% of the distance between two sentences, "
        f"Spearman's correlation of similarities {point.spearman:.3f}"
        for curve in curves
        for point in curve.points
    ]


def _heads(corpus: Corpus, options: argparse.Namespace) -> Heads:
    if options.heads:
        return [tuple(map(int, head.split("-"))) for head in re.split("[.,]", options.heads)]  # type: ignore[misc]
    count = max(1, round(options.share * corpus.layers * corpus.heads))
    return ordered_heads(corpus, options.order, options.seed)[:count]


def _tell(share: float, title: str | None) -> None:
    """Show the progress in one line of the terminal; nothing in a file."""
    if sys.stderr.isatty():
        print(f"\r{title}: {100 * share:3.0f}%".ljust(LINE), end="", file=sys.stderr, flush=True)


def _as_json(found: "Dataset") -> str:
    """The numbers as JSON; NaN becomes null."""
    numbers = json.loads(json.dumps(found.to_dict()), parse_constant=lambda _: None)
    return json.dumps(numbers, indent=2)


def _as_text(corpus: Corpus, found: "SampleChange") -> str:
    from dashboard.sentence.sample import number_rows

    replaced = f"{len(found.heads)} of {corpus.layers * corpus.heads} heads of {corpus.title}"
    lines = [f"{replaced}; instead, a head does: {INSTEAD[found.instead]}", "No rule was fitted on these sentences."]
    return "\n".join([*lines, *(f"{row.title}: {row.number}" for row in number_rows(found))])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headscape replace",
        description="Run the model of a store on a sample of its sentences, with all heads and with some that do something else.",
    )
    parser.add_argument("place", nargs="?", metavar="STORE", help="the same as --store=STORE")
    parser.add_argument("--store", help=f"folder, s3://bucket/prefix or gs://bucket/prefix (default {STORE})")
    parser.add_argument("--model", help="key or name of a model in the store (default: the one ingested last)")
    parser.add_argument("--heads", type=_written, help="layers and heads, such as 2-8,3-1 (default: a share of all)")
    parser.add_argument("--share", type=_share, default=0.25, help="share of the heads, 0 to 1 (default 0.25)")
    orders = "; ".join(f"{name}: {meaning}" for name, meaning in ORDERS.items())
    parser.add_argument("--order", choices=ORDERS, default="explained", help=f"which of them first. {orders}")
    parser.add_argument("--seed", type=_seed, default=0, help="of a random order (default 0)")
    instead = "; ".join(f"{name}: {meaning}" for name, meaning in INSTEAD.items())
    parser.add_argument("--instead", choices=INSTEAD, default="rule", help=f"what a head does instead. {instead}")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help=f"at most so many (default {SENTENCES})")
    parser.add_argument(
        "--curve", action="store_true", help="replace 0, 10, 25, 50, 75 and 100%% of the heads, in every order"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, of some heads relation by relation")
    return parser


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 1")
    return share


def _seed(text: str) -> int:
    seed = int(text)
    if seed < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return seed


def _written(text: str) -> str:
    if not _HEADS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of heads such as 2-8,3-1")
    return text


if __name__ == "__main__":
    end(main())
