"""The twelve views of the gallery: the page of each picture, the sentence beside it, and an element that must be on it."""

import re
from dataclasses import dataclass, field

from tests.bench.complete_page import THERE
from tests.browser import DRAWN
from tests.gallery.figures import (
    Read,
    alike_heads,
    from_cls,
    made_of,
    of_all_heads,
    of_places,
    on_sinks,
    relation,
    role,
    roles_found,
)

#: Selectors of a picture's content: points of heads or features, lines or cells of a sentence, a chart.
POINTS, SENTENCE, CHART = f"{DRAWN} canvas", "#sentence[data-drawn^='/']", ".chart .main-svg"

#: Windows in which no legend is cut.
WINDOW, WIDE = (1280, 800), (1440, 900)


@dataclass(frozen=True)
class Shot:
    """A page, or a section of a page, that a picture shows.

    Attributes
    ----------
    name
        Name of the picture's file.
    link
        Path and query. With a fragment the picture shows that section of the page, else the top of the page.
    shows
        Selector of an element that must be in the picture.
    window
        Width and height of the window in pixels; a section is no higher.
    there
        Selector of an element that the page has once it is loaded.
    """

    name: str
    link: str
    shows: str
    window: tuple[int, int]
    there: str = field(default=THERE, kw_only=True)


@dataclass(frozen=True)
class View(Shot):
    """A view of the dashboard: its title in the gallery, and the heading of its page or section.

    `sentence` describes the picture, with names of figures in braces; `figures` reads these figures from a store.
    """

    title: str
    heading: str
    sentence: str
    figures: Read

    @property
    def named(self) -> list[str]:
        """Names of the figures of the sentence."""
        return re.findall(r"{(\w+)}", self.sentence)


VIEWS = (
    View(
        "overview",
        "/",
        ".card .of-sentence",
        (1280, 956),
        "What heads do",
        "What the heads of",
        "A test finds a role in {found} of {heads} heads; each card shows the clearest head of a role.",
        roles_found,
    ),
    View(
        "heads",
        "/heads",
        POINTS,
        WINDOW,
        "Every head at once",
        "Queries and keys of all 72 heads",
        "Queries (blue) and keys (orange) of {heads} heads. Attention is high where they lie close: rank correlation {spearman}.",
        of_all_heads,
    ),
    View(
        "position",
        "/head?layer=1&head=8&colour=position&token=282&lines=sentence",
        POINTS,
        WINDOW,
        "A head of position",
        "Queries and keys of L1 H8",
        "{head} gives {share} of its attention to the next token: a query lies near the key one position on. Lines show a sentence.",
        role("next", 1, 8),
    ),
    View(
        "role",
        "/head?layer=3&head=11&colour=kind",
        POINTS,
        (1280, 1024),
        "A head by class of token",
        "Queries and keys of L3 H11",
        "{head} gives sentence-final marks {times} times an average word's attention. Roles have shares; tests say which hold.",
        role("sentence_end", 3, 11),
    ),
    View(
        "statistics",
        "/statistics?statistic=to_sink",
        CHART,
        (1280, 640),
        "Statistics of heads",
        "Statistics of all 72 heads",
        "{many} heads give more than half of their attention to sinks; {head} gives {most}, another head {least}.",
        on_sinks,
    ),
    View(
        "reach",
        "/statistics?after=5#reach",
        CHART,
        (1280, 720),
        "What a vector is made of",
        "Which tokens a vector is made of",
        "“{token}” has {reach} times an even share of a sentence's vector, though only {received} times of the attention.",
        made_of,
    ),
    View(
        "relations",
        "/relations?relation=dobj",
        CHART,
        (1280, 592),
        "Heads that follow grammar",
        "Relations between words",
        "{head} links {accuracy} of objects to their verbs in held-out sentences; a fixed offset finds {offset}.",
        relation("dobj"),
    ),
    View(
        "sentence",
        "/sentence",
        SENTENCE,
        WIDE,
        "A head in a sentence",
        "Sentence ",
        "In {head} an object attends to its verb {times} times as much as to an average word.",
        role("verb_of_object", 2, 0),
    ),
    View(
        "model",
        "/sentence?sentence=12&layer=2&show=model",
        SENTENCE,
        WIDE,
        "All heads in a sentence",
        "Sentence 12 of",
        "A pattern for each head. The diagonal of {head} is attention to the previous token: {share}.",
        role("previous", 0, 2),
    ),
    View(
        "difference",
        "/sentence?sentence=12&layer=5&show=matrix&mean=heads&rollout=globenc&difference=1",
        SENTENCE,
        WINDOW,
        "What arrives, minus attention",
        "Sentence 12 of",
        "Orange: less arrives than attention says. {arrives} of a token's vector comes from [CLS]; by attention alone, {attention}.",
        from_cls,
    ),
    View(
        "features",
        "/features",
        POINTS,
        WINDOW,
        "Tokens through the layers",
        "tokens of the sample at",
        "{tokens} tokens at {places} places. Wordpieces explain {first} of the variance of embeddings, {last} after the last layer.",
        of_places,
    ),
    View(
        "map",
        "/map?paint=role",
        CHART,
        WINDOW,
        "Map of heads",
        "Map of all 72 heads",
        "Heads that attend alike lie together: {groups} groups, named by what sets them apart, such as “{name}”.",
        alike_heads,
    ),
)
#: A page of the published site, in `docs/serving.md`.
PUBLISHED = Shot("published", "/head/L2H0.html", ".frame canvas", (1280, 960), there="main")
