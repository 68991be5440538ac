"""What the links of each page hold. A page says it in its topic, `dashboard/topics.py` lists the topics; nothing here knows a page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from store import Corpus, Snapshot


@dataclass(frozen=True, kw_only=True)
class PageLinks:
    """What is particular to the links of a page.

    Attributes
    ----------
    former_names
        Names of the page in older links.
    shows_fields
        Whether a link with fields but without a page opens it, as links did before there was a first page.
    always
        Fields that its links hold even where they are as by default.
    stored_sentences
        Whether it shows a sentence from its stored vectors alone.
    sample
        Whether its feature points are those of the sample alone.
    other_models
        Keys of the models that it can show beside the link's; None: of every model that some page can.
    other_models_are
        What these have in common with the link's, in a notice.
    """

    former_names: tuple[str, ...] = ()
    shows_fields: bool = False
    always: frozenset[str] = frozenset()
    stored_sentences: bool = False
    sample: bool = False
    other_models: Callable[[Snapshot, Corpus], list[str]] | None = None
    other_models_are: str = "with as many layers and heads"


#: By the name of the page; filled once, when `dashboard.topics` is imported.
_DECLARED: dict[str, PageLinks] = {}


def declare_pages(pages: Mapping[str, PageLinks]) -> None:
    """Name the pages that links can open, the first page first."""
    _DECLARED.clear()
    _DECLARED.update(pages)


def page_links() -> Mapping[str, PageLinks]:
    """Every page by its name, the first page first. A process that has not imported the pages yet imports them here."""
    if not _DECLARED:
        import_module("dashboard.topics")  # above this folder: by name, as it imports what makes links
    return _DECLARED


def links_of(page: str) -> PageLinks:
    """What is particular to the links of a page."""
    return page_links()[page]


def first_page() -> str:
    """The page of the address `/`."""
    return next(iter(page_links()))


def page_of(name: str) -> str | None:
    """The page with this name or former name; None where there is none."""
    pages = page_links()
    return name if name in pages else next((page for page, its in pages.items() if name in its.former_names), None)


def page_of_fields() -> str:
    """The page of a link that has fields but names no page."""
    return next((page for page, its in page_links().items() if its.shows_fields), first_page())
