"""The fields of a link by the pages they are of, each brought into the bounds of a corpus."""

import re
from dataclasses import replace
from typing import Any

from dashboard.features.columns import column_names
from dashboard.features.series import Series, value_layers
from dashboard.points.focus import LINES
from dashboard.points.search import WITHIN
from dashboard.points.selection import MOST_SOUGHT
from dashboard.statistics.definitions import telling
from dashboard.ui.under_way import what_to_do
from dashboard.web.link_reader import LinkReader
from dashboard.web.state import HEAD_TOKENS, LEAST, TOP
from store import STATISTICS, Corpus
from store.schema.features import stored_point
from store.schema.model import RATIOS, ROLES, SOURCES

SHOWS = ("head", "model", "matrix", "neuron", "positions", "mixing")
ON = ("1",)
MEANS = ("none", "heads", "layers", "both")
PAIRS = ("all", "aa", "ab", "ba", "bb")
#: What the heat map of all heads shows of a statistic.
VALUES = ("value", "rank", "difference")
#: By what the heads that changed most are found: how far their attention is apart, or one statistic of it.
RANKED_BY = ("divergence", "statistic")
#: Of what there are pictures in both of two models.
PICTURES_OF = ("head", "point")
TABS = ("statistics", "point", "selection", "pairs", "distance")
MOST_TOKENS = 1_000_000
MOST_TOP = 20
_MARKS = re.compile(r"\d{1,4}-\d{1,4}(\.\d{1,4}-\d{1,4}){0,40}")
_CAMERA = re.compile(r"-?[\d.]{1,9}(,-?[\d.]{1,9}){2,4}")


def of_picture(read: LinkReader, corpus: Corpus) -> dict[str, Any]:
    """The fields of the pictures of heads."""
    return {
        "layer": read.number("layer", range(corpus.layers), 0),
        "head": read.number("head", range(corpus.heads), 0),
        "tokens": read.number("tokens", range(1, MOST_TOKENS + 1), HEAD_TOKENS),
        "view": _view(read, corpus),
        "colour": read.text("colour", 80) or "role",
        "size": read.choice("size", ("norm",), None),
        "labels": read.choice("labels", ON, None),
        "q": read.text("q", MOST_SOUGHT),
        "within": read.choice("within", WITHIN, "token"),
        "where": read.parts("where", 2_000),
        "lasso": read.text("lasso", 1_500),
        "token": read.number("token", range(corpus.n_tokens), None),
        "role": read.choice("role", ROLES, "query"),
        "top": read.number("top", range(1, MOST_TOP + 1), TOP),
        "least": read.share("least", LEAST),
        "lines": read.choice("lines", LINES, "point"),
        "marks": read.matching("marks", _MARKS),
        "tab": read.choice("tab", TABS, None),
        "at": read.matching("at", _CAMERA),
    }


def of_sentence(read: LinkReader, corpus: Corpus) -> dict[str, Any]:
    """The fields of the page of a sentence."""
    lengths = range(1, int(corpus.corpus_attributes["max_length"]) + 1)
    longest = int(corpus.attributes["config"].get("max_position_embeddings", len(lengths)))
    return {
        "sentence": read.number("sentence", range(corpus.n_sentences), 0),
        **read.typed(),
        "show": read.choice("show", SHOWS, "head"),
        "heads": read.numbers("heads", range(corpus.heads)),
        "queries": read.numbers("queries", range(longest)),
        "toward": read.number("toward", range(longest), None),
        "weights": read.choice("weights", ("attention", "norm"), "attention"),
        "mean": read.choice("mean", MEANS, "none"),
        "ratio": read.choice("ratio", tuple(RATIOS), "attnresln_n"),
        "pair": read.choice("pair", PAIRS, "all"),
        "hide": read.numbers("hide", range(longest)),
        "special": read.choice("special", ("0",), None),
        "renormalize": read.choice("renormalize", ON, None),
        "words": read.choice("words", ON, None),
        "rollout": read.choice("rollout", ON, None),
        "find": read.text("find", MOST_SOUGHT),
        "labelled": read.choice("labelled", corpus.label_names, None),
        "fewest": read.number("fewest", lengths, None),
        "most": read.number("most", lengths, None),
        "by": read.choice("by", ("order", *telling("all")), None),
    }


def of_statistics(read: LinkReader) -> dict[str, Any]:
    """The fields of the pages of all heads' numbers."""
    names = tuple(STATISTICS)
    source = read.choice("source", SOURCES, "all")
    return {
        "statistic": _statistic(read, source),
        "source": source,
        "values": read.choice("values", VALUES, "value"),
        "against": read.choice("against", names, None),
        "sort": read.choice("sort", (*names, "importance", "head"), None),
        "named": read.text("named", 20),
        "behaviour": read.text("behaviour", 40),
        "paint": read.choice("paint", ("layer", "label", *telling("all")), "layer"),
    }


def of_comparison(read: LinkReader) -> dict[str, Any]:
    """The fields of the page of two models."""
    return {
        "ranked": read.choice("ranked", RANKED_BY, "divergence"),
        "pictures": read.choice("pictures", PICTURES_OF, "head"),
    }


def of_features(read: LinkReader, corpus: Corpus, page: str) -> dict[str, Any]:
    """The fields of the page of feature points; none where the store has none. Page Compare has the sample's points alone."""
    if not corpus.materials:
        return {}
    read = _by_stored_names(_of_sample(read, corpus.materials[0]) if page == "compare" else read)
    material = read.choice("material", tuple(corpus.materials), corpus.materials[0])
    features = corpus.features(material)
    layers = value_layers(features)
    asked = read.choice("vectors", tuple(map(str, layers)), None)
    series = Series(corpus, features, None if asked is None else int(asked))
    return {
        "material": None if material == corpus.materials[0] else material,
        "vectors": series.layer,
        "fview": read.choice("fview", tuple(series.views), None),
        "point": read.choice("point", series.names, None),
        "fcolour": read.choice("fcolour", column_names(features), "kind"),
        "ftoken": read.number("ftoken", range(features.n_tokens), None),
        "flasso": read.text("flasso", 1_500),
    }


def _by_stored_names(read: LinkReader) -> LinkReader:
    """Points may be called by what they are, `L00.layer_output`, or as in the store, `L00.feedforward`."""
    given = dict(read.given)
    if "point" in given:
        given["point"] = stored_point(given["point"])
    if (fitted := given.get("fview", "").partition("-"))[2]:
        given["fview"] = f"{fitted[0]}-{stored_point(fitted[2])}"
    return replace(read, given=given)


def _of_sample(read: LinkReader, sample: str) -> LinkReader:
    """Without what was chosen among the tokens of a review or in pictures of values, and without these."""
    of_review = ("ftoken", "flasso") if read.given.get("material", sample) != sample else ()
    of_values = ("fview", "point") if "vectors" in read.given else ()
    left = {"material", "vectors", *of_review, *of_values}
    return replace(read, given={name: text for name, text in read.given.items() if name not in left})


def _statistic(read: LinkReader, source: str) -> str:
    """One in which heads differ over these rows."""
    asked = str(read.choice("statistic", tuple(STATISTICS), "to_sep"))
    if asked in telling(source):
        return asked
    read.notices.append(
        f"All tokens together receive 1 in every head. Shown is {STATISTICS['to_sep'].title}; choose the rows of some tokens for what they receive."
    )
    return "to_sep"


def _view(read: LinkReader, corpus: Corpus) -> str | None:
    """A view other than the default."""
    asked = read.given.get("view")
    if asked and asked not in corpus.views:
        shown = "This is the most faithful one." if corpus.views else "There is no other one yet."
        remedy = what_to_do(read.ingest, "Run `make projections VIEWS=...` to make it.")
        read.notices.append(f"There is no view “{asked[:80]}” of this model. {shown} {remedy}")
    return asked if asked in corpus.views[1:] else None
