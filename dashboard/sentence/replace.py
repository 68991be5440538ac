"""`headscape replace`: what changes over a sample of the corpus where heads are switched off, or attend by their rules."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from store import Corpus, open_corpus
from store.__main__ import STORE
from store.process import check_extra, end, until_pipe_closes
from store.replacement import INSTEAD, ORDERS, SENTENCES, Heads, checked_heads, ordered_heads
from store.repository.errors import StoreError

if TYPE_CHECKING:
    from dashboard.sentence.sample import SampleChange, Watch
    from dashboard.web.state import Instead

#: Columns of the line that says how far it is.
LINE = 70
_HEADS = re.compile(r"\d{1,3}-\d{1,3}([.,]\d{1,3}-\d{1,3})*")


def replace_heads(
    corpus: Corpus,
    heads: Heads,
    instead: "Instead" = "rule",
    sentences: int = SENTENCES,
    watch: "Watch" = lambda _share, _title: None,
) -> "SampleChange":
    """Run the model of a corpus here, with all heads and with changed ones; see `headscape.replace`."""
    if instead not in INSTEAD:
        raise StoreError(f"There is no replacement {instead!r}. Choose one of: {', '.join(INSTEAD)}.")
    if sentences < 1:
        raise StoreError(f"A sample of {sentences} sentences is too small. Give at least 1.")
    chosen = checked_heads(corpus, heads)
    for extra in ("dashboard", "ingest"):
        check_extra(extra)
    from dashboard.sentence.checkpoint import CorpusModel
    from dashboard.sentence.encoder import Encoder
    from dashboard.sentence.sample import measure
    from dashboard.web.errors import Refusal

    encoder, model = Encoder(), CorpusModel.of(corpus)
    try:
        return measure(
            corpus,
            lambda text, change: encoder.change(model, text, "", change, lambda: False),
            chosen,
            instead,
            sentences,
            watch,
        )
    except Refusal as refusal:
        raise StoreError(str(refusal)) from refusal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: exit status 0, or 1 after a message on what to do next."""
    return until_pipe_closes(lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    try:
        corpus = open_corpus(options.store or options.place or STORE, model=options.model)
        found = replace_heads(corpus, _heads(corpus, options), options.instead, options.sentences, _tell)
    except StoreError as error:
        print(f"replace: {error}", file=sys.stderr)
        return 1
    if sys.stderr.isatty():
        print(f"\r{'':{LINE}}\r", end="", file=sys.stderr)
    print(_as_json(found) if options.json else _as_text(corpus, found))
    return 0


def _heads(corpus: Corpus, options: argparse.Namespace) -> Heads:
    if options.heads:
        return [tuple(map(int, head.split("-"))) for head in re.split("[.,]", options.heads)]  # type: ignore[misc]
    count = max(1, round(options.share * corpus.layers * corpus.heads))
    return ordered_heads(corpus, options.order, options.seed)[:count]


def _tell(share: float, title: str | None) -> None:
    """How far it is, on one line of the terminal; nothing in a file."""
    if sys.stderr.isatty():
        print(f"\r{title}: {100 * share:3.0f}%".ljust(LINE), end="", file=sys.stderr, flush=True)


def _as_json(found: "SampleChange") -> str:
    """Numbers that there are none of are null: JSON has no NaN."""
    numbers = json.loads(json.dumps(found.labelled().to_dict()), parse_constant=lambda _: None)
    return json.dumps(numbers, indent=2)


def _as_text(corpus: Corpus, found: "SampleChange") -> str:
    vectors, (low, high) = found.vectors, found.interval
    pairs, before, after = found.linked
    lines = [
        f"{len(found.heads)} of {corpus.layers * corpus.heads} heads of {corpus.title}; instead, a head does: {INSTEAD[found.instead]}",
        f"sentences: {found.sentences} of {found.wanted}, none of which a rule was fitted on",
        f"change of the sentence vector: {vectors.mean:.4f} ({low:.4f} to {high:.4f})",
    ]
    if found.sentences > 1:
        lines += [
            f"share of the distance between two sentences: {100 * vectors.share:.2f}% of {vectors.distance:.3f}",
            f"Spearman's correlation of similarities: {vectors.spearman:.3f}",
            f"same nearest sentence: {100 * vectors.nearest:.0f}%",
        ]
    if pairs:
        lines.append(f"linked by later heads: {100 * before:.1f}% before, {100 * after:.1f}% after, of {pairs:,} pairs")
    return "\n".join([*lines, *_of_labels(found)])


def _of_labels(found: "SampleChange") -> list[str]:
    labels = found.labels
    if labels is None:
        return []
    lines = [f"same answer of the classifier: {labels.same:.0%}"]
    if labels.before and labels.after:
        (right, loss), (then, worse) = labels.before, labels.after
        lines.append(f"right answers of {labels.labelled:,}: {right:.1%} before, {then:.1%} after")
        lines.append(f"mean loss in nats: {loss:.3f} before, {worse:.3f} after")
    return lines


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
    parser.add_argument("--json", action="store_true", help="print JSON, relation by relation")
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
