"""Where pages and data are in a published site: every address of the dashboard as a path of the site, or none."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from posixpath import relpath
from urllib.parse import parse_qs, urlsplit

from store import Corpus
from store.phrases import whole_number
from store.schema.model import head_name

#: A field of an address of data that does not name its file: the same in all addresses of a file.
_ALIKE = "tokens"


def head_path(layer: int, head: int) -> str:
    """The page of a head, below the folder of its model."""
    return f"head/{head_name(layer, head).replace(' ', '')}.html"


def sentence_path(number: int) -> str:
    """The page of a sentence."""
    return f"sentence/{number}.html"


def data_path(address: str, base: str) -> str:
    """The file of an address of data that begins with `base`: its path with what its query chooses (assets/published/picture.mjs)."""
    parts = urlsplit(address)
    path = PurePosixPath("data", parts.path.removeprefix(base).lstrip("/"))
    chosen = [value for name, (value, *_) in sorted(parse_qs(parts.query).items()) if name != _ALIKE]
    return str(path.with_name("-".join([path.stem, *chosen]) + path.suffix))


def relative(path: str, of: str) -> str:
    """The link from one page of the site to a path of it."""
    file, _, section = path.partition("#")
    return relpath(file, str(PurePosixPath(of).parent)) + (f"#{section}" if section else "")


@dataclass(frozen=True)
class Places:
    """What of a model is published: its pages, and the files of addresses of data that a page asked for.

    Attributes
    ----------
    folder
        Of the model within the site: empty, or its name and a slash.
    base
        How addresses of its data begin.
    sentences
        Numbers of the sentences with a page.
    asked
        Addresses of data that pages show, by their path.
    """

    folder: str
    base: str
    corpus: Corpus
    sentences: frozenset[int]
    asked: dict[str, str] = field(default_factory=dict)

    def page(self, href: str) -> str | None:
        """The page of the site that a link of the dashboard leads to; None where it is not published."""
        parts = urlsplit(href)
        if parts.scheme in ("http", "https") or (parts.fragment and not parts.path):
            return href
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        name = parts.path.strip("/")
        if name == "head":
            return self.folder + head_path(int(fields.get("layer", 0)), int(fields.get("head", 0)))
        if name == "sentence" and "text" not in fields:
            sentence = whole_number(fields.get("sentence", "0"))  # a link leaves out what is the default
            if sentence in self.sentences:
                return self.folder + sentence_path(sentence)
        return self.folder + "map.html" if name == "map" and not fields.keys() - {"model", "layer", "head"} else None

    def from_page(self, path: str, href: str) -> str | None:
        """What a link or an address of data is in the page at a path. ValueError where another address has its file."""
        if href.startswith(self.base):
            file = self.folder + data_path(href, self.base)
            other = self.asked.setdefault(file, href)
            if other != href:
                raise ValueError(f"{file} would be the answer to {href} and to {other}.")
            return relative(file, path)
        page = self.page(href)
        return page if page is None or page.startswith(("http", "#")) else relative(page, path)
