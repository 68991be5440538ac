"""Paths of the server: the prefix under which it answers, such as `/team/heads`, and the page that a path names.

WSGI's SCRIPT_NAME holds the prefix: routes do without it, and every address in a response begins with `root()`. The topic of a
page declares the rules of its links; `dashboard/pages.py` lists the topics, and this module names no page.
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
#: Headers in which a proxy, such as jupyter-server-proxy, names the prefix that it has removed.
TAKEN = ("HTTP_X_PROXYCONTEXTPATH", "HTTP_X_FORWARDED_PREFIX")
#: Key of the WSGI environment of a request whose prefix a proxy has removed.
WITHOUT = "headscape.without_prefix"
#: Cookie with a letter for each redirect of a browser to the prefix; number of redirects that mean a loop, within these seconds.
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
    """Beginning of all addresses in the response to this request."""
    return request.root_path if has_request_context() else ""


def page_name(pathname: str) -> str:
    """The page that a path of the address bar names; "" for the first."""
    return pathname.removeprefix(f"{root()}/").strip("/")


def serve_under(server: Flask, prefix: str) -> None:
    """Answer only under the prefix, also where a proxy removes it and says so; the bare prefix and `/` lead to the first page."""
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
        if request.path != "/" or len(led) >= OFTEN:  # outside the prefix, or a loop: a proxy removes the prefix
            abort(404, OUTSIDE.format(prefix=prefix))
        answer.set_cookie(LED, f"{led}x", max_age=LED_SECONDS, httponly=True, samesite="Lax")
        return answer

    if prefix:
        server.wsgi_app = strip  # type: ignore[method-assign]
        server.before_request(check_prefix)
        server.after_request(_lead_from_here)


def _lead_from_here(answer: Response) -> Response:
    """Make the address of a redirect relative to the request, for a proxy that removes the prefix.

    Some proxies add the prefix to a path that begins with a slash (jupyter-server-proxy 4.6), others do not.
    """
    inside = f"{root()}/"
    if WITHOUT in request.environ and (answer.location or "").startswith(inside):
        up = "../" * (request.environ["PATH_INFO"].count("/") - 1)
        answer.headers["Location"] = f"./{up}{(answer.location or '').removeprefix(inside)}"
    return answer


@dataclass(frozen=True, kw_only=True)
class PageLinks:
    """Special rules of the links of a page.

    Attributes
    ----------
    former_names
        Names of the page in older links.
    shows_fields
        Whether a link with fields but without a page opens this page, as links of older versions did.
    always
        Fields that its links hold even with default values.
    stored_sentences
        Whether the page shows a sentence from its stored vectors alone.
    sample
        Whether the page shows feature points of the sample alone.
    other_models
        Function of the models (keys) that the page can show beside the link's; None: all that some page can show.
    other_models_are
        Common property of these models and the link's, for a notice.
    second_model
        Function of the second model whose numbers the page shows, by the state of the link; None for pages of one model.
    subtracts
        Whether the second model is only subtracted.
    every_model
        Whether the page shows numbers of all models of the store.
    marked
        Items that can have marks of notes: heads and tokens of the corpus, tokens of a sentence, or feature points.
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


#: Links of each page by its name; filled once, when `dashboard.pages` is imported.
_DECLARED: dict[str, PageLinks] = {}


def declare_pages(pages: Mapping[str, PageLinks]) -> None:
    """Name the pages that links can open, the first page first."""
    _DECLARED.clear()
    _DECLARED.update(pages)


def page_links() -> Mapping[str, PageLinks]:
    """Every page by its name, the first page first. A process that has not imported the pages yet imports them here."""
    if not _DECLARED:
        import_module("dashboard.pages")  # imported late: it imports modules that make links
    return _DECLARED


def links_of(page: str) -> PageLinks:
    """Special rules of the links of a page."""
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
