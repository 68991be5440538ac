"""The pages of a published store, model by model: the template of each with values, which are components of the dashboard as HTML."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from dash import html
from flask import Flask

from dashboard.models.page import every_head
from dashboard.notebook.sentence import start_of
from dashboard.overview.page import draw as draw_overview
from dashboard.overview.page import read as read_overview
from dashboard.overview.role_cards import cards
from dashboard.points.page import picture_of_heads, read_heads
from dashboard.published.drawn import encode_lines, sentence_files
from dashboard.published.folder import SiteFolder
from dashboard.published.heads import HeadPage, neighbours, read_head_page
from dashboard.published.map import NO_KIND, SHAPES, Drawing, scatter_of_models
from dashboard.published.markup import head_path, relative, sentence_path
from dashboard.published.provenance import card, joined
from dashboard.published.site import ModelSite, Options, Page, Step, write_assets
from dashboard.roles.shares import KINDS, NO_ROLE
from dashboard.web.served_store import ServedStore
from store.schema.model import head_name

#: Reports progress: the current work, the number of its finished steps, and the number of all its steps.
Tell = Callable[[str, int, int], None]


def publish_store(store: ServedStore, server: Flask, site: SiteFolder, options: Options, tell: Tell) -> None:
    """Write the pages of all models of the newest snapshot; `server` answers for its data."""
    snapshot = store.snapshot()
    several = len(snapshot.models) > 1
    models = [
        ModelSite(store, server, site, options, snapshot.corpus(key), f"{key}/" if several else "")
        for key in snapshot.models
    ]
    write_assets(site)
    for model in models:
        _write_model(model, tell)
    if several:
        models[0].write_page(models_page(models), joined([model.about for model in models]))
    site.write("README.md", card(joined([model.about for model in models])))
    site.write(".nojekyll", "")  # GitHub Pages: copy every file as it is


def _write_model(model: ModelSite, tell: Tell) -> None:
    """Write every page of a model, and every file that a page shows."""
    title, steps = f"Publishing {model.corpus.title}", len(model.heads) + len(model.sentences) + 3
    tell(title, 0, steps)
    model.write_tokens()
    for number, page in enumerate(pages_of(model), 1):
        model.write_page(page)
        tell(title, min(number, steps - 1), steps)
    model.write_asked()
    tell(title, steps, steps)


def pages_of(site: ModelSite) -> Iterator[Page]:
    """Every page of a model, one after the other."""
    yield overview_page(site)
    yield from (head_page(site, layer, head) for layer, head in site.heads)
    yield from (sentence_page(site, number) for number in site.sentences)
    if site.sentences:
        yield sentence_list(site)
    if site.map is not None:
        yield map_page(site, site.map)


def overview_page(site: ModelSite) -> Page:
    """The first page of a model."""
    context, about = site.context("overview"), site.about
    picture = picture_of_heads(read_heads(site.context("heads")))
    path, shown = f"{site.folder}index.html", read_overview(context)
    # With the parts that the page computes later, and without text of the corpus where that is not published.
    has_cards = shown.cards is not None and site.options.text
    drawn: list[Any] = cards(context.corpus, context.state) if has_cards else []
    shown = replace(shown, cards=html.Div(drawn) if drawn else None, exceptions=None)
    return Page(
        path=path,
        template="overview.html",
        title=f"What the heads of {about.model} do on {about.data}",
        description=f"{len(site.heads)} attention heads of {about.model} on {about.data}: what each attends to, with evidence.",
        values={
            "content": site.html(path, draw_overview(shown).above),
            "picture": picture and site.picture(path, picture),
            "heads": [(head_name(*head), head_path(*head)) for head in site.heads],
        },
        script="picture" if picture else "plain",
        preview=site.preview(path, picture),
    )


def head_page(site: ModelSite, layer: int, head: int) -> Page:
    """The page of a head; writes the lines of its points."""
    path, about = f"{site.folder}{head_path(layer, head)}", site.about
    link = {"layer": layer, "head": head, "tokens": site.tokens, "wordpieces": f"{layer}-{head}", "labels": 1}
    page = read_head_page(site.context("head", **link), text=site.options.text)
    lines = f"lines/{layer}/{head}.bin"
    site.folder_of_site.write(
        f"{site.folder}data/{lines}", encode_lines(site.corpus, layer, head, site.sentences_drawn)
    )
    steps = [
        Step(arrow, title, relative(f"{site.folder}{head_path(*other)}", path))
        for arrow, title, *other in neighbours(site.corpus, layer, head)
    ]
    return Page(
        path=path,
        template="head.html",
        title=f"{page.name} of {about.model} on {about.data}",
        description=site.named(page.does) or f"Attention head {page.name} of {about.model} on {about.data}.",
        values={
            "picture": page.picture and site.picture(path, page.picture, page.colours, lines, steps),
            "neighbours": steps,
            "words": site.options.text,
            **_texts_of_head(site, path, page),
        },
        script="picture" if page.picture else "plain",
        preview=site.preview(path, page.picture),
    )


def _texts_of_head(site: ModelSite, path: str, page: HeadPage) -> dict[str, Any]:
    parts = ("below", "roles", "evidence", "statistics", "dictionary", "relations", "nearest")
    colours = [
        {"name": colour.name, "title": site.named(colour.title), "legend": site.html(path, colour.legend)}
        for colour in page.colours
    ]
    positions = [(site.html(path, chart.heading), chart) for chart in page.positions]
    drawn = {part: site.html(path, getattr(page, part)) for part in parts}
    return {
        "name": page.name,
        "does": site.named(page.does),
        "role": site.named(page.role),
        "colours": colours,
        "positions": positions,
        **drawn,
    }


def sentence_page(site: ModelSite, number: int) -> Page:
    """The page of a sentence; writes its weights."""
    path = f"{site.folder}{sentence_path(number)}"
    content, packed = sentence_files(site.corpus, number, site.about.source)
    weights, text = f"{site.folder}data/sentence/{number}.bin", str(site.corpus.sentences.text.values[number])
    site.folder_of_site.write(weights, packed.packed)
    place = site.sentences.index(number)
    others = {"←": ("previous sentence", place - 1), "→": ("next sentence", place + 1)}
    return Page(
        path=path,
        template="sentence.html",
        title=f"Attention of {site.about.model} in sentence {number:,}",
        description=f"Attention of all {len(site.heads)} heads in “{text}”",
        values={
            "number": number,
            "tokens": content["weights"]["tokens"],
            "text": text,
            "label": site.corpus.label_name(number),
            "given": site.json(
                {
                    "content": content,
                    "state": start_of("head", 0, range(site.corpus.heads)),
                    "weights": relative(weights, path),
                }
            ),
            "neighbours": [
                Step(arrow, title, relative(f"{site.folder}{sentence_path(site.sentences[other])}", path))
                for arrow, (title, other) in others.items()
                if 0 <= other < len(site.sentences)
            ],
        },
        script="sentence",
    )


def sentence_list(site: ModelSite) -> Page:
    """The page with all published sentences."""
    texts, path, data = site.corpus.sentences.text.values, f"{site.folder}sentences.html", site.about.data
    rows = [
        (relative(f"{site.folder}{sentence_path(number)}", path), str(texts[number]), site.corpus.label_name(number))
        for number in site.sentences
    ]
    return Page(
        path=path,
        template="sentences.html",
        title=f"Sentences of {data}",
        description=f"Attention of all heads of {site.about.model} in {len(rows)} sentences of {data}.",
        values={"rows": rows, "every": f"{site.corpus.counted_sentences:,}"},
    )


def map_page(site: ModelSite, drawing: Drawing) -> Page:
    """The page with the map of heads."""
    path, about = f"{site.folder}map.html", site.about
    return Page(
        path=path,
        template="map.html",
        title=f"Map of the heads of {about.model}",
        description=f"Heads of {about.model} near each other where they attend alike on {about.data}.",
        values={
            "drawing": drawing,
            "kinds": [*enumerate(map(site.named, [*KINDS.values()][:-1])), (NO_KIND, NO_ROLE)],
            "shapes": SHAPES,
            "links": [relative(f"{site.folder}{head_path(dot.layer, dot.head)}", path) for dot in drawing.dots],
        },
    )


def models_page(sites: list[ModelSite]) -> Page:
    """The first page of a site of several models: all their heads by two numbers."""
    site, corpora = sites[0], [each.corpus for each in sites]
    every = every_head(site.store.snapshot())
    drawing = scatter_of_models(every, {each.corpus.name: each.named for each in sites})
    models = [
        (every.models[corpus.name], f"{corpus.name}/index.html", place % NO_KIND)
        for place, corpus in enumerate(corpora)
    ]
    return Page(
        path="index.html",
        template="models.html",
        title="Heads of all models",
        description=every.counted,
        values={
            "counted": every.counted,
            "drawing": drawing,
            "links": [f"{dot.model}/{head_path(dot.layer, dot.head)}" for dot in drawing.dots],
            "models": models,
            "shapes": SHAPES,
        },
    )
