"""Description of an opened corpus, as lines of text and as HTML for a notebook: sizes, computed results, and calls to make next.

Reads metadata only. The HTML has the colours of the notebook, light or dark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

import zarr

from store.phrases import many
from store.repository.arrays import Groups

#: Stage of an ingest after the vectors and statistics -> its group, and an attribute of the group once the stage is finished.
STAGES: Mapping[str, tuple[str, str]] = {
    "highest-scoring pairs": ("pairs", "sentences"),
    "divergence between heads": ("divergence", "tokens"),
    "attention between words": ("words", "sentences"),
    "relations": ("relations", "relations_hash"),
    "coreference": ("coreference", "coreference_hash"),
    "rules and roles": ("roles", "roles_hash"),
    "governors from attention": ("uas", "uas_hash"),
    "feature points": ("features", "materials"),
    "context mixing": ("mixing", "sentences"),
    "head importance": ("importance", "importance_hash"),
}
#: Stage -> attribute of a corpus with its results.
GIVES: Mapping[str, str] = {
    "highest-scoring pairs": "pairs",
    "divergence between heads": "divergence",
    "attention between words": "strongest_words",
    "relations": "relations",
    "coreference": "coreference",
    "rules and roles": "head_roles",
    "governors from attention": "uas",
    "feature points": 'features("sample")',
    "context mixing": "context_mixing(0)",
    "head importance": "importance",
}
#: Stage that an ingest leaves out by default -> command that makes it; for other stages `headscape ingest`.
REMEDIES: Mapping[str, str] = {
    "head importance": "headscape ingest --importance=100",
    "coreference": "headscape ingest --data=<file with coreference>",
}
#: Calls that every corpus has, which the description lists first.
CALLS = ("head_statistic", "pattern(0)", "sentences")
#: Styles of the HTML table, and of its cells.
_TABLE = "border-collapse: collapse; color: inherit; background: none"
_CELL = "text-align: left; vertical-align: top; padding: 2px 16px 2px 0; color: inherit; background: none"
_NAME = f"{_CELL}; font-weight: normal; opacity: 0.7; white-space: nowrap"


class Described(Protocol):
    """Attributes of a corpus that the description reads."""

    name: str
    title: str
    snapshot: str
    layers: int
    heads: int
    n_sentences: int
    n_tokens: int
    counted_sentences: int
    counted_tokens: int
    corpus_attributes: Mapping[str, Any]

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, see `store.Corpus`."""

    @property
    def views(self) -> list[str]:
        """Names of the finished views, see `store.Corpus`."""

    @property
    def token_sets(self) -> list[str]:
        """Names of the token sets, see `store.Corpus`."""


@dataclass(frozen=True)
class Row:
    """A line: its name, and texts that a line may break between; `code` for texts of Python or a terminal."""

    name: str
    texts: tuple[str, ...]
    code: bool = False


def finished_stages(model: zarr.Group) -> list[str]:
    """Titles of the stages that have run to their end."""
    groups = dict(model.groups())
    return [title for title, (name, finished) in STAGES.items() if name in groups and finished in groups[name].attrs]


def as_text(corpus: Described, groups: Groups) -> str:
    """The description as lines of text."""
    rows = rows_of(corpus, finished_stages(groups.group(f"models/{corpus.name}")))
    width = max(len(row.name) for row in rows)
    return "\n".join([_title(corpus), *(f"  {row.name:<{width}}  {', '.join(row.texts)}" for row in rows)])


def as_html(corpus: Described, groups: Groups) -> str:
    """The description as a table; every text of the store is escaped."""
    rows = "".join(
        f'<tr style="background: none"><th scope="row" style="{_NAME}">{escape(row.name)}</th>'
        f'<td style="{_CELL}">{_texts(row)}</td></tr>'
        for row in rows_of(corpus, finished_stages(groups.group(f"models/{corpus.name}")))
    )
    return f'<div style="color: inherit"><strong>{escape(_title(corpus))}</strong><table style="{_TABLE}">{rows}</table></div>'


def _texts(row: Row) -> str:
    each = [escape(text) for text in row.texts]
    return ", ".join(
        f'<code style="color: inherit; background: none">{text}</code>' if row.code else text for text in each
    )


def _title(corpus: Described) -> str:
    return f"Corpus: {corpus.title} on {corpus.corpus_attributes['name']}"


def rows_of(corpus: Described, stages: Sequence[str]) -> list[Row]:
    """The description of a corpus line by line, with these finished stages."""
    missing = [stage for stage in STAGES if stage not in stages]
    made = [GIVES[stage] for stage in STAGES if stage in stages]
    remedies = list(dict.fromkeys(REMEDIES.get(stage, "headscape ingest") for stage in missing))
    rows = [
        Row("model", (f"{many(corpus.layers, 'layer')} × {many(corpus.heads, 'head')}", f"key {corpus.name}")),
        Row("text", _sizes(corpus)),
        Row("labels", corpus.label_names or ("none",)),
        Row("pictures", _counted(corpus.views)),
        Row("token sets", tuple(corpus.token_sets) or ("none",)),
        Row("computed", tuple(stages) or ("none",)),
        Row("missing", tuple(missing)),
        Row("to compute", tuple(remedies), code=True),
        Row("call next", tuple(f"corpus.{call}" for call in (*CALLS, *_calls(corpus), *made)), code=True),
        Row("snapshot", (corpus.snapshot,)),
    ]
    return [row for row in rows if row.texts]


def _sizes(corpus: Described) -> tuple[str, ...]:
    """Numbers of sentences and tokens, and of sentences with vectors where these are fewer."""
    every = many(corpus.counted_sentences, "sentence"), many(corpus.counted_tokens, "token")
    if corpus.counted_sentences == corpus.n_sentences:
        return every
    return (*every, f"vectors of the first {many(corpus.n_sentences, 'sentence')}")


def _counted(views: Sequence[str]) -> tuple[str, ...]:
    if not views:
        return ("none",)
    others = len(views) - 1
    return (f"{views[0]} by default", *([f"{others} more in corpus.views"] if others else []))


def _calls(corpus: Described) -> list[str]:
    """Further calls of a corpus for notebooks."""
    return [call for name, call in (("show", "show(0, 0)"), ("sentence", "sentence(0)")) if hasattr(corpus, name)]
