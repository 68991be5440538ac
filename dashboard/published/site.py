"""A store as a folder of pages: the parts that pages share, and the files of data that they show."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urljoin

from flask import Flask
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dashboard.canvas.spec import Picture
from dashboard.notebook.modules import script
from dashboard.published.drawn import (
    MOST_SENTENCES,
    MOST_TOKENS,
    chosen_sentences,
    count_tokens,
    drawn_sentences,
    drawn_tokens,
)
from dashboard.published.folder import SiteFolder
from dashboard.published.heads import PublishedColour
from dashboard.published.map import Drawing, map_of_heads
from dashboard.published.markup import Places, data_path, head_path, html_of, relative
from dashboard.published.provenance import Provenance, provenance
from dashboard.ui.theme import ramp
from dashboard.web.assets import ASSETS, FONTS, TYPEFACE
from dashboard.web.context import Context, resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import in_names, in_names_of, special_names
from store import Corpus, StoreError

#: Style sheets of published pages: those of the dashboard, and one for published pages alone.
SHEETS = ("style.css", "overview.css", "points.css", "sentence.css", "window.css", "notebook.css", "published.css")
#: The script of each kind of page -> the module that it starts.
SCRIPTS = {"plain": "published/page.mjs", "picture": "published/picture.mjs", "sentence": "published/sentence.mjs"}
#: The key on a keyboard for each arrow.
KEYS = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown"}
#: Pixels of a preview in each direction.
PREVIEW = 480


@dataclass(frozen=True)
class Options:
    """What is published: texts of the corpus or none, numbers of tokens of a head and of sentences, and the site's URL for previews.

    `licences` are of "model" and "data", where somebody gives them.
    """

    text: bool = True
    tokens: int = MOST_TOKENS
    sentences: int = MOST_SENTENCES
    url: str = ""
    licences: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """A page of the site: its path, its template with its values, and the title, description and preview of links to it."""

    path: str
    template: str
    title: str
    description: str
    values: Mapping[str, Any]
    script: str = "plain"
    preview: str = ""


class Step(NamedTuple):
    """A link to a neighbour of the head or sentence of a page: its arrow, its title and its address."""

    arrow: str
    title: str
    href: str


def write_assets(site: SiteFolder) -> None:
    """Write the scripts, the style sheet and the typeface of all pages."""
    for name, entry in SCRIPTS.items():
        site.write(f"assets/{name}.js", script(entry))
    site.write("assets/color_scheme.js", (ASSETS / "color_scheme.js").read_bytes())
    site.write("assets/site.css", "\n".join((ASSETS / sheet).read_text("utf-8") for sheet in SHEETS))
    for font in FONTS:
        site.write(f"assets/{font}", (TYPEFACE / font).read_bytes())


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("dashboard.published"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True)
class ModelSite:
    """The files of one model, below `folder` of the site: empty, or the name of the model and a slash.

    `server` answers for the data of the store.
    """

    store: ServedStore
    server: Flask
    folder_of_site: SiteFolder
    options: Options
    corpus: Corpus
    folder: str

    @cached_property
    def sentences_drawn(self) -> int:
        """Number of whole sentences whose tokens are drawn of a head."""
        return drawn_sentences(self.corpus, self.options.tokens)

    @cached_property
    def tokens(self) -> int:
        """Number of tokens that are drawn of a head."""
        return count_tokens(self.corpus, self.sentences_drawn)

    @cached_property
    def sentences(self) -> list[int]:
        """Sentences with a page."""
        return chosen_sentences(self.corpus, self.options.sentences) if self.options.text else []

    @cached_property
    def places(self) -> Places:
        """The places of the model's pages and files of data."""
        return Places(self.folder, data_link(self.corpus), self.corpus, frozenset(self.sentences))

    @cached_property
    def about(self) -> Provenance:
        """The provenance of the model's numbers."""
        return provenance(self.store.snapshot(), self.corpus, self.options.licences, self.tokens)

    @cached_property
    def map(self) -> Drawing | None:
        """The map of the model's heads; None where the store has no map."""
        return map_of_heads(self.corpus)

    @cached_property
    def templates(self) -> Environment:
        """Templates of all pages."""
        return _environment()

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Every head: (layer, head)."""
        return [(layer, head) for layer in range(self.corpus.layers) for head in range(self.corpus.heads)]

    def write_tokens(self) -> None:
        """Write the file of the drawn tokens, which all pages of heads share."""
        drawn = drawn_tokens(self.corpus, self.sentences_drawn, text=self.options.text)
        self.folder_of_site.write(
            f"{self.folder}data/drawn.json", json.dumps(drawn, ensure_ascii=False, separators=(",", ":"))
        )

    def context(self, page: str, **fields: object) -> Context:
        """The context of a link to a page of the dashboard for this model."""
        query = "&".join(f"{name}={value}" for name, value in {"model": self.corpus.name, **fields}.items())
        return resolve(self.store, f"/{page}", f"?{query}")

    def named(self, text: str) -> str:
        """A text of the code with special tokens named as the tokenizer of the corpus does."""
        return in_names(text, special_names(self.corpus))

    # -- parts of pages ---------------------------------------------------------------------------

    def picture(
        self,
        path: str,
        picture: Picture,
        colours: Sequence[PublishedColour] = (),
        lines: str = "",
        steps: Sequence[Step] = (),
    ) -> Markup:
        """JSON that the script of a page reads: the picture of the dashboard, and the addresses of the files of its data.

        A picture of one head has `colours`, the file of its `lines`, and `steps` to its neighbours.
        """
        base, data = self.places.base, relative(f"{self.folder}data", path) + "/"
        for address in (picture.points, *(colour.codes for colour in colours)):
            if address:
                self.places.from_page(path, address)
        given = {
            "base": base,
            "data": data,
            "picture": replace(picture, raster=f"{relative(self.preview(path, picture), path)}?").json(),
            "points": picture.points,
            "lines": lines,
            "focus": f"{base}/focus/" if lines else "",
            "colours": [{"codes": colour.codes, "kind": colour.kind} for colour in colours],
            "ramps": {kind: ramp(kind, picture.roles) for kind in dict.fromkeys(colour.kind for colour in colours)},
            "pages": [] if lines else [relative(f"{self.folder}{head_path(*head)}", path) for head in self.heads],
            "steps": {KEYS[step.arrow]: step.href for step in steps},
            "every": relative(f"{self.folder}index.html", path) if lines else "",
        }
        return self.json(in_names_of(self.corpus, given))

    def preview(self, path: str, picture: Picture | None) -> str:
        """The file with the still picture of a page; empty without a picture."""
        if picture is None:
            return ""
        one = f"{picture.raster}&side={PREVIEW}" if len(picture.panels) == 1 else picture.raster
        self.places.from_page(path, f"{one}&scheme=light")
        return self.folder + data_path(f"{one}&scheme=light", self.places.base)

    def html(self, path: str, content: object) -> Markup:
        """Components as HTML of the page at a path."""
        return html_of(self.corpus, content, lambda href: self.places.from_page(path, href))

    def write_asked(self) -> None:
        """Write the answers of the server to every address that a page shows."""
        client = self.server.test_client()
        for file, address in self.places.asked.items():
            answer = client.get(address)
            if answer.status_code != 200:
                raise StoreError(f"The file {file} cannot be made: {answer.text}")
            self.folder_of_site.write(file, answer.data)

    def write_page(self, page: Page, about: Provenance | None = None) -> None:
        """Write a page within its frame; `about` is the provenance of a page of several models."""
        root = relative(".", page.path)
        own = self.folder if page.path.startswith(self.folder) else ""
        pages = {
            "Overview": f"{own}index.html",
            **({"Head map": f"{own}map.html"} if self.map is not None else {}),
            **({"Sentences": f"{own}sentences.html"} if self.sentences else {}),
        }
        several = {"All models": "index.html"} if self.folder else {}
        named = {**several, **(pages if page.path != "index.html" or not self.folder else {})}
        text = self.templates.get_template(page.template).render(
            page=page,
            about=about or self.about,
            root="" if root == "." else f"{root}/",
            navigation=[(title, relative(path, page.path), path == page.path) for title, path in named.items()],
            address=self.options.url and urljoin(self.options.url, page.path),
            preview=self.options.url and page.preview and urljoin(self.options.url, page.preview),
            **page.values,
        )
        self.folder_of_site.write(page.path, text)

    @staticmethod
    def json(value: object) -> Markup:
        """JSON within a script element: nothing in it ends the element."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=list)
        return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
