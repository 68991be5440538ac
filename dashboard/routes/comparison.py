"""Routes of two models on one corpus: the files of what differs between them."""

from flask import Flask, Response, abort
from flask import request as asked

from dashboard.compare.numbers import changes_table, differences_table
from dashboard.compare.two import Two
from dashboard.heads.definitions import telling
from dashboard.library import Library
from dashboard.place import on_same_corpus
from dashboard.routes.files import FORM, file
from dashboard.routes.request import BASE
from store.schema import SOURCES

PAIR = f"{BASE}/compare/<other>"


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{PAIR}/changes.{FORM}")
    def changes(snapshot: str, model: str, other: str, form: str) -> Response:
        two, source = _alike(two_by_name(library, snapshot, model, other)), _source()
        statistic = _statistic(source)
        return file(iter([changes_table(two, statistic, source)]), f"changes-{statistic}-{source}", form)

    @server.get(f"{PAIR}/differences.{FORM}")
    def differences(snapshot: str, model: str, other: str, form: str) -> Response:
        two, source = _alike(two_by_name(library, snapshot, model, other)), _source()
        return file(iter([differences_table(two, source)]), f"differences-{source}", form)


def two_by_name(library: Library, snapshot: str, model: str, other: str) -> Two:
    """The models a URL names; a sentence where they are not on one corpus."""
    opened = library.snapshot(snapshot)
    own = opened.corpus(model)
    there = on_same_corpus(opened, own)
    if other not in there:
        named = f"Choose one of {', '.join(there)}." if there else "Ingest another one with `make ingest MODEL=...`."
        abort(404, f"There is no other model “{other[:80]}” on the corpus of {own.name}. {named}")
    return Two(own, opened.corpus(other))


def _alike(two: Two) -> Two:
    if not two.same_heads:
        abort(404, f"{' '.join(two.differences())} Choose a model of as many layers and heads.")
    return two


def _source() -> str:
    source = asked.args.get("source", SOURCES[0])
    if source not in SOURCES:
        abort(404, f"There are no means over the rows of “{source[:40]}”. Choose one of {', '.join(SOURCES)}.")
    return source


def _statistic(source: str) -> str:
    statistic = asked.args.get("statistic", "to_sep")
    if statistic not in telling(source):
        abort(404, f"Heads do not differ in “{statistic[:40]}”. Choose one of {', '.join(telling(source))}.")
    return statistic
