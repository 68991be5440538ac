"""Paths of the server: the prefix under which it answers, such as `/team/heads`, and the page that a path names.

WSGI's SCRIPT_NAME holds the prefix: routes do without it, and every address that a response contains begins with `root()`. What
the links of a page hold is said in its topic; `dashboard/pages.py` lists the topics, and nothing here knows a page.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from flask import Flask, abort, has_request_context, redirect, request
from werkzeug.wrappers import Response

from store import Corpus, Snapshot

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
#: Headers in which a proxy names the path that it has taken away, such as jupyter-server-proxy.
TAKEN = ("HTTP_X_PROXYCONTEXTPATH", "HTTP_X_FORWARDED_PREFIX")
#: Key of the WSGI environment of a request whose prefix was taken away.
WITHOUT = "headscape.without_prefix"
#: Cookie with a letter for each time that a browser was led to the prefix; how often that is no accident, within seconds.
LED, OFTEN, LED_SECONDS = "headscape-led", 3, 10
OUTSIDE = (
    "This server answers under {prefix}/ alone. Open {prefix}/; a proxy must pass on the whole path, or name what it takes "
    "away in the header X-Forwarded-Prefix."
)
_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~@-]+)*")


def path_prefix(text: str) -> str:
    """A prefix without its last slash; "" for none.

    Raises
    ------
    ValueError
        Where the text is not a path.
    """
    prefix = text.strip().rstrip("/")
    if not _PATH.fullmatch(prefix):
        raise ValueError(
            f"--prefix={text} is not a path such as /team/heads. Use letters, digits and . _ ~ @ - between slashes."
        )
    return prefix


def root() -> str:
    """What the addresses in the response to this request begin with."""
    return request.root_path if has_request_context() else ""


def page_name(pathname: str) -> str:
    """The page that a path of the address bar names; "" for the first."""
    return pathname.removeprefix(f"{root()}/").strip("/")


def serve_under(server: Flask, prefix: str) -> None:
    """Answer under the prefix alone, also where a proxy takes it away and says so; its start and `/` lead to the first page."""
    answer = server.wsgi_app

    def strip(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if f"{path}/".startswith(f"{prefix}/"):
            environ |= {"SCRIPT_NAME": prefix, "PATH_INFO": path[len(prefix) :]}
        elif any(environ.get(name, "").rstrip("/") == prefix for name in TAKEN):
            environ |= {"SCRIPT_NAME": prefix, WITHOUT: True}
        return answer(environ, start_response)

    def check_prefix() -> Response | None:
        query = request.query_string.decode("latin-1")
        answer = redirect(f"{prefix}/" + (f"?{query}" if query else ""))
        if request.root_path == prefix:
            return None if request.environ["PATH_INFO"] else answer
        led = request.cookies.get(LED, "")
        if request.path != "/" or len(led) >= OFTEN:  # led to the prefix, the browser comes back without it
            abort(404, OUTSIDE.format(prefix=prefix))
        answer.set_cookie(LED, f"{led}x", max_age=LED_SECONDS, httponly=True, samesite="Lax")
        return answer

    if prefix:
        server.wsgi_app = strip  # type: ignore[method-assign]
        server.before_request(check_prefix)
        server.after_request(_lead_from_here)


def _lead_from_here(answer: Response) -> Response:
    """Write a redirect from the address of the request on, for a proxy that takes the prefix away.

    Some put the prefix before a path that begins with a slash (jupyter-server-proxy 4.6), others do not.
    """
    inside = f"{root()}/"
    if WITHOUT in request.environ and (answer.location or "").startswith(inside):
        up = "../" * (request.environ["PATH_INFO"].count("/") - 1)
        answer.headers["Location"] = f"./{up}{(answer.location or '').removeprefix(inside)}"
    return answer


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
    second_model
        The model beside the link's that its numbers are of, by the state of the link; None where they are of one model.
    subtracts
        Whether that model is only subtracted.
    every_model
        Whether its numbers are of all models of the store.
    marked
        What of it has the marks of notes: heads and tokens of the corpus, the tokens of a sentence, or feature points.
    """

    former_names: tuple[str, ...] = ()
    shows_fields: bool = False
    always: frozenset[str] = frozenset()
    stored_sentences: bool = False
    sample: bool = False
    other_models: Callable[[Snapshot, Corpus], list[str]] | None = None
    other_models_are: str = "with as many layers and heads"
    second_model: Callable[[Snapshot, Corpus, Any], Corpus | None] | None = None
    subtracts: bool = False
    every_model: bool = False
    marked: Literal["heads", "sentence", "features"] = "heads"


#: By the name of the page; filled once, when `dashboard.pages` is imported.
_DECLARED: dict[str, PageLinks] = {}


def declare_pages(pages: Mapping[str, PageLinks]) -> None:
    """Name the pages that links can open, the first page first."""
    _DECLARED.clear()
    _DECLARED.update(pages)


def page_links() -> Mapping[str, PageLinks]:
    """Every page by its name, the first page first. A process that has not imported the pages yet imports them here."""
    if not _DECLARED:
        import_module("dashboard.pages")  # above this folder: by name, as it imports what makes links
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
