"""What changes over a sample of the corpus where the heads of a link do something else: a part of page Sentence, computed on demand."""

from dash import html

from dashboard.roles.shares import known_shares
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sample import EncodedSample, LinkChange, SampleChange, Sampling, Watch
from dashboard.sentence.sample_numbers import NumberRow, number_rows
from dashboard.ui.controls import action, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import current_job
from dashboard.web.admission import Room
from dashboard.web.context import Context
from dashboard.web.results import current_cache
from dashboard.web.served_store import ServedStore
from dashboard.web.state import Instead, LinkState, heads_numbers
from store import Corpus
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
_COLUMNS = ("relation", "head", "pairs", "before", "after")


class Measuring(Room):
    """Room for those who measure in this process."""

    @classmethod
    def of(cls, _served_store: ServedStore) -> "Measuring":
        """That of a served store."""
        return cls(READERS, BUSY)


def can_be_measured(corpus: Corpus, state: LinkState) -> bool:
    """Whether the heads of a link can be replaced over the corpus: not by rules that they do not have.

    Nor as in one other sentence: it has as many tokens as few sentences of the corpus.
    """
    has_rules = state.instead != "rule" or known_shares(corpus) is not None
    return bool(state.without) and state.instead != "patch" and has_rules


def over_corpus(state: LinkState, measured: html.Div | None) -> list[object]:
    """A button that measures the change over the corpus, or the measured change."""
    if measured is None:
        button = action(f"Measure over {SENTENCES} sentences of the corpus", state.with_(sampled="1").href)
        return [html.P(button, className="over-corpus")]
    title = html.H3(["Over the corpus", info("the corpus", _ABOUT)])
    return [title, measured]


def _key(without: str | None, instead: Instead) -> tuple[str, str | None, str]:
    return "sample of changed heads", without, instead


def known_change(corpus: Corpus, without: str | None, instead: Instead) -> SampleChange | None:
    """What was measured before."""
    found: SampleChange | None = current_cache().find(corpus, _key(without, instead))
    return found


def _is_measured(corpus: Corpus, state: LinkState) -> bool:
    return known_change(corpus, state.without, state.instead) is not None


def sample_change(
    served_store: ServedStore, corpus: Corpus, without: str, instead: Instead, watch: Watch
) -> SampleChange:
    """What changes without the heads of a link; measured now where it was not before, and kept."""

    def measured() -> SampleChange:
        sampling, heads = sampling_of(served_store, corpus), heads_numbers(without)
        first = 0.0 if current_cache().find(corpus, _ALL_HEADS) else 0.5
        before = sample_as_it_is(sampling, lambda share, title: watch(first * share, title))
        after = sampling.changed(heads, instead, lambda share, title: watch(first + (1 - first) * share, title))
        return sampling.compare(before, after, heads, instead)

    found: SampleChange = current_cache().get(corpus, _key(without, instead), measured)
    return found


def compute_sampled(context: Context) -> list[object]:
    """The change over the corpus. Only who measures takes room, not who finds what was measured."""
    corpus, state = context.corpus, context.state
    if not (state.without and state.sampled) or state.instead == "patch":
        return []
    if (known := known_change(corpus, state.without, state.instead)) is not None:
        return draw_sampled(known)
    with context.served_store.service(Measuring).entered():
        watch = current_job().watch
        return draw_sampled(sample_change(context.served_store, corpus, state.without, state.instead, watch))


def sampling_of(served_store: ServedStore, corpus: Corpus) -> Sampling:
    """The sample of a corpus, encoded by the model of its server."""
    typed = served_store.service(TypedSentences)
    return Sampling(corpus, lambda text, change: typed.run(corpus, text, change))


def sample_as_it_is(sampling: Sampling, watch: Watch) -> EncodedSample:
    """The sample with all heads, which is the same for every link, and kept."""
    encoded: EncodedSample = current_cache().get(sampling.corpus, _ALL_HEADS, lambda: sampling.as_it_is(watch))
    return encoded


#: The key of the sample with all heads.
_ALL_HEADS = "sample with all heads"
SAMPLED = DeferredPart(
    "sampled",
    "what changes over the corpus",
    compute_sampled,
    ("without", "instead", "sampled"),
    HEIGHT,
    ready=_is_measured,
)


def draw_sampled(shown: SampleChange) -> list[object]:
    """The numbers as a table, and the relations of which fewer pairs are linked."""
    return [_numbers(shown), *_links(shown)]


def _numbers(shown: SampleChange) -> html.Div:
    body = [html.Tr([_row_title(row), html.Td(row.number, className="number")]) for row in number_rows(shown)]
    return scrolling(html.Table(html.Tbody(body), className="rows"), "What changes over the corpus")


def _row_title(row: NumberRow) -> html.Th:
    return html.Th([row.title, info(row.title, row.about)] if row.about else row.title, scope="row")


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
