"""What changes over a sample of the corpus where the heads of a link do something else: a part of page Sentence, computed on demand."""

from typing import Any

from dash import html

from dashboard.roles.shares import known_shares
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sample import EncodedSample, LinkChange, SampleChange, Sampling
from dashboard.ui.controls import action, info
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import current_job
from dashboard.web.admission import Room
from dashboard.web.context import Context
from dashboard.web.results import current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState, heads_numbers
from store import Corpus
from store.phrases import many
from store.replacement import SENTENCES
from store.schema.model import head_name

#: Relations that are listed, and pixels of the part.
LISTED, HEIGHT = 5, 560
#: Threads of a worker that measure at once: the others still answer.
READERS = 2
BUSY = "The server measures for other readers. Try again in a minute."
_ABOUT = (
    "The model runs on sentences of the corpus that no rule of a head was fitted on, with all heads and with these ones replaced. "
    "The vector of a sentence is the mean of the last layer's output over the tokens of words."
)
_SPEARMAN = "Spearman's correlation of the cosines of all pairs of sentences before and after: 1 is the same order."
_LINKS = (
    "Of each relation of grammar the later head that links most pairs, chosen on the other half of the sentences: how many of the "
    "pairs it links before and after. Later heads are above a replaced one and not replaced themselves."
)
_COLUMNS = ("relation", "head", "pairs", "before", "after")


class Measuring(Room):
    """Room for those who measure in this process."""

    @classmethod
    def of(cls, _served_store: ServedStore) -> "Measuring":
        """That of a served store."""
        return cls(READERS, BUSY)


def over_corpus(context: Context) -> list[object]:
    """A button that measures the change over the corpus, or the measured change; nothing where heads have no rules.

    Nor where they attend as in one other sentence: it has as many tokens as few sentences of the corpus.
    """
    state = context.state
    if state.instead == "patch" or (state.instead == "rule" and known_shares(context.corpus) is None):
        return []
    if not state.sampled:
        button = action(f"Measure over {SENTENCES} sentences of the corpus", state.with_(sampled="1").href)
        return [html.P(button, className="over-corpus")]
    title = html.H3(["Over the corpus", info("the corpus", _ABOUT)])
    return [title, deferred(context, SAMPLED, ready=_known(context.corpus, state) is not None)]


def _key(state: LinkState) -> tuple[str, str | None, str]:
    return "sample of changed heads", state.without, state.instead


def _known(corpus: Corpus, state: LinkState) -> SampleChange | None:
    """What was measured before."""
    found: SampleChange | None = current_cache().find(corpus, _key(state))
    return found


def compute_sampled(context: Context) -> list[object]:
    """The change over the corpus, which is kept."""
    corpus, state = context.corpus, context.state
    if not (state.without and state.sampled) or state.instead == "patch":
        return []
    return draw_sampled(current_cache().get(corpus, _key(state), lambda: _measured_in_room(context)))


def _measured_in_room(context: Context) -> SampleChange:
    """Only who measures takes room, not who finds what was measured, or waits for it."""
    with context.served_store.service(Measuring).entered():
        return _measured(context)


def _measured(context: Context) -> SampleChange:
    """Measured now; the sample with all heads is the same for every link, and kept."""
    corpus, state, cache, job = context.corpus, context.state, current_cache(), current_job()
    typed = context.served_store.service(TypedSentences)
    sampling = Sampling(corpus, lambda text, change: typed.run(corpus, text, change))
    first = 0.0 if cache.find(corpus, _ALL_HEADS) else 0.5
    before: EncodedSample = cache.get(
        corpus, _ALL_HEADS, lambda: sampling.as_it_is(lambda share, title: job.watch(first * share, title))
    )
    heads = heads_numbers(state.without)
    after = sampling.changed(heads, state.instead, lambda share, title: job.watch(first + (1 - first) * share, title))
    return sampling.compare(before, after, heads, state.instead)


#: The key of the sample with all heads.
_ALL_HEADS = "sample with all heads"
SAMPLED = DeferredPart(
    "sampled", "what changes over the corpus", compute_sampled, ("without", "instead", "sampled"), HEIGHT
)


def draw_sampled(shown: SampleChange) -> list[object]:
    """The numbers as a table, and the relations of which fewer pairs are linked."""
    return [_numbers(shown), *_links(shown)]


def _numbers(shown: SampleChange) -> html.Div:
    vectors, (low, high) = shown.vectors, shown.interval
    rows: list[tuple[Any, str]] = [
        ("sentences", f"{shown.sentences:,} of {shown.wanted:,}"),
        (
            "change of the sentence vector (1 - cosine, 95% interval)",
            f"{vectors.mean:.4f} ({low:.4f} to {high:.4f})",
        ),
    ]
    if shown.sentences > 1:
        rows += [
            ("1 - cosine of two different sentences", f"{vectors.distance:.3f}"),
            ("change as a share of the distance between two sentences", f"{100 * vectors.share:.1f}%"),
            (["order of similarities", info("the order of similarities", _SPEARMAN)], f"{vectors.spearman:.3f}"),
            ("same nearest sentence", f"{100 * vectors.nearest:.0f}%"),
        ]
    pairs, before, after = shown.linked
    if pairs:
        linked = f"{100 * before:.1f}% before, {100 * after:.1f}% after"
        what = f"of {many(pairs, 'pair')} of words, linked by later heads"
        rows.append(([what, info("linked pairs", _LINKS)], linked))
    if shown.labels is not None:
        rows.append(("same answer of the classifier", f"{100 * shown.labels.same:.0f}%"))
        if (own := shown.labels.before) and (other := shown.labels.after):
            rows.append(
                (
                    f"right answers of {shown.labels.labelled:,}",
                    f"{own.accuracy:.1%} before, {other.accuracy:.1%} after",
                )
            )
            rows.append(("mean loss in nats", f"{own.loss:.3f} before, {other.loss:.3f} after"))
    body = [html.Tr([html.Th(title, scope="row"), html.Td(number, className="number")]) for title, number in rows]
    return scrolling(html.Table(html.Tbody(body), className="rows"), "What changes over the corpus")


def _links(shown: SampleChange) -> list[object]:
    """The relations of which later heads link fewer pairs, the most pairs first."""
    worst = sorted(shown.links, key=lambda link: link.pairs * (link.after - link.before))[:LISTED]
    lost = [link for link in worst if link.after < link.before]
    if not lost:
        return []
    table = html.Table([heading(_COLUMNS, _COLUMNS[2:]), html.Tbody([_row(link) for link in lost])], className="rows")
    return [html.P("Relations that later heads link less:"), scrolling(table, "Relations that later heads link less")]


def _row(link: LinkChange) -> html.Tr:
    shares = (f"{100 * share:.0f}%" for share in (link.before, link.after))
    numbers = (html.Td(text, className="number") for text in (f"{link.pairs:,}", *shares))
    return html.Tr([html.Td(link.relation), html.Td(head_name(link.layer, link.head)), *numbers])
