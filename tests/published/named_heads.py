"""Roles of heads beside people's names for heads of bert-base-uncased: labels by hand, and heads that a paper names.

AttentionViz's authors (Yeh et al. 2023) looked at all 144 heads; this module has their eight labels of the previous token. A
file with the columns layer, head and label, counted from 0, gives all labels. Clark et al. 2019 name heads by their grammar.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import rankdata

import store
from ingest.run.errors import IngestError
from store.schema.model import head_name
from tests.bench.table import show

#: Label by hand -> role whose share predicts the label, and least area under the curve; None where the label is fuzzy. The two
#: labels of induction are about repeated random tokens, which no corpus has.
LABELS: Mapping[str, tuple[str, float | None]] = {
    "next": ("next", 0.9),
    "previous": ("previous", 0.9),
    "self": ("self", None),
}
PREVIOUS = ((0, 2), (0, 3), (1, 4), (3, 5), (3, 11), (5, 10), (6, 11), (7, 4))
KNOWN = dict.fromkeys(PREVIOUS, "previous")
#: Largest rank of a named head among all heads by the bias of its role.
FIRST = 14
Labels = Mapping[tuple[int, int], str]


class NamedHead(NamedTuple):
    """A head that Clark et al. 2019 name (Figures 5 and 6), counted from 0, and the role with the same meaning."""

    layer: int
    head: int
    role: str
    said: str


CLARK = (
    NamedHead(7, 9, "verb_of_object", "direct objects attend to their verbs"),
    NamedHead(7, 10, "noun_of_modifier", "noun modifiers attend to their noun"),
    NamedHead(6, 5, "noun_of_modifier", "possessives attend to the noun"),
    NamedHead(3, 9, "governor", "passive auxiliaries attend to the verb"),
    NamedHead(8, 5, "dependent", "prepositions attend to their objects"),
    NamedHead(4, 3, "antecedent", "mentions attend to their antecedents"),
)


@dataclass(frozen=True)
class Told:
    """A label or a named head, how well a role predicts it, and whether that is well enough; None without a threshold."""

    what: str
    role: str
    number: str
    agrees: bool | None


def read_labels(file: Path) -> dict[tuple[int, int], str]:
    """Layer and head -> label. IngestError where the file lacks a column of labels."""
    try:
        with file.open(encoding="utf-8", newline="") as rows:
            return {(int(row["layer"]), int(row["head"])): row["label"].strip() for row in csv.DictReader(rows)}
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise IngestError(f"{file} has no columns layer, head and label. Write one row for each head.") from error


def area(scores: NDArray[np.floating], has: NDArray[np.bool_]) -> float:
    """Probability that a head with a label scores higher than one without, ties counting half; NaN where either is missing."""
    own, others = int(has.sum()), int((~has).sum())
    if not (own and others):
        return float("nan")
    return float((rankdata(scores)[has].sum() - own * (own + 1) / 2) / (own * others))


def told_labels(shares: xr.DataArray, labels: Labels) -> list[Told]:
    """How well shares of roles (role, layer, head) separate the heads of each label from all others."""
    found = []
    for label, (role, least) in LABELS.items():
        has = np.zeros(shares.shape[1:], bool)
        for (layer, head), own in labels.items():
            has[layer, head] |= own == label
        if not has.any():
            continue
        own_area = area(shares.sel(role=role).values.ravel(), has.ravel())
        number = f"area under the curve {own_area:.3f}, {int(has.sum())} of {has.size} heads"
        found.append(Told(f"label {label}", role, number, None if least is None else own_area >= least))
    return found


def told_heads(tests: xr.Dataset, named: Sequence[NamedHead], first: int = FIRST) -> list[Told]:
    """Whether the test finds the role of each named head, and its bias is among the largest; heads without pairs are left out."""
    found = []
    for layer, head, role, said in named:
        bias = tests.bias.sel(role=role).values
        if np.isnan(bias[layer, head]):
            continue
        place = 1 + int((bias > bias[layer, head]).sum())
        is_found = bool(tests.found.sel(role=role).values[layer, head])
        number = f"{bias[layer, head]:.1f} times an average word, place {place} of {bias.size}"
        found.append(Told(f"{head_name(layer, head)}: {said}", role, number, is_found and place <= first))
    return found


def show_named(corpus: store.Corpus, labels: Labels, named: Sequence[NamedHead] = CLARK) -> list[Told]:
    """Print how well the roles of a corpus predict labelled and named heads."""
    rows = [*told_labels(corpus.roles.share, labels), *told_heads(corpus.role_tests, named)]
    verdicts = {True: "agrees", False: "differs", None: ""}
    title = (
        f"Roles beside labels by hand and heads that Clark et al. 2019 name; here {corpus.corpus_attributes['name']}"
    )
    show(title, ("", "role", "", ""), [(row.what, row.role, row.number, verdicts[row.agrees]) for row in rows])
    return rows
