"""Rules, roles and tests of the heads of a model, labelled, from what the ingest has stored of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.roles import UNEXPLAINED, BiasTest, discoveries, name_roles, t_test
from store.kernels.rules import RULES
from store.schema.model import HEADS
from store.schema.roles import ROLE_HALVES, TABLES

#: Roles of which only the bias against the same offset is tested beside the sieve bias.
GRAMMAR = "relation"
#: Pairs of words of one offset have a bias of 1 against each other.
SAME_OFFSET = 1.0


def rules_of(group: xr.Dataset) -> xr.Dataset:
    """What `Corpus.rules` returns, from the group of the store."""
    scores = ["iou", "sqrt_jsd", "top_key", "top_word_key", "words_share"]
    names = np.array([*group.rule.values.tolist(), ""], object)
    chosen = (group.chosen.dims, names[group.chosen.values])
    uniform = group[["iou", "words_share"]].sel(rules="uniform", drop=True)
    skills = (group[["iou", "words_share"]] - uniform) / (1 - uniform)
    return xr.Dataset(
        {
            **{name: group[name] for name in (*scores, "interval", "rule_weight", "variance_share")},
            "chosen": chosen,
            "skill": skills.iou,
            "words_skill": skills.words_share,
        },
        attrs=group.attrs,
    ).drop_vars("rule", errors="ignore")


def rule_titles() -> Mapping[str, str]:
    """Short title of every rule, the tables of a head among them."""
    return {name: rule.title for name, rule in RULES.items()} | dict(TABLES)


def roles_of(group: xr.Dataset) -> xr.Dataset:
    """What `Corpus.roles` returns, from the group of the store."""
    labels = {"kind": "kind", "breadth": "breadth", "title": "title", "sentence": "description"}
    told = {
        name: (
            "role",
            [
                UNEXPLAINED if role == UNEXPLAINED else getattr(RULES[role], field)
                for role in group.role.values.tolist()
            ],
        )
        for field, name in labels.items()
    }
    arrays = ["share", "weight", "agreement", "rand_index", "explained", "even_explained"]
    skill = (group.explained - group.even_explained) / (1 - group.even_explained)
    kept = group[arrays].assign(skill=skill).drop_vars(["rules", "rule", "part", "bound"], errors="ignore")
    return kept.assign_coords(told).assign_attrs(group.attrs)


def head_roles(roles: xr.Dataset) -> xr.DataArray:
    """What each head is for, in words such as `next token 81%, itself 9%`: (layer, head)."""
    named = roles.share.sel(role=roles.role != UNEXPLAINED).transpose(..., "role")
    titles = named.title.values.tolist()
    words = [name_roles(titles, shares) for shares in named.values.reshape(-1, len(titles))]
    cells = np.array(words, object).reshape(named.shape[:-1])
    return xr.DataArray(cells, {dim: roles[dim] for dim in HEADS}, HEADS, name="head_roles")


def tests_of(group: xr.Dataset, threshold: float) -> xr.Dataset:
    """What `Corpus.test_roles` returns, from the group of the store: the biases (layer, head, sentence, role) are small."""
    every = _tested(group.bias, threshold)
    halves = [
        discoveries(_tested(group.bias[:, :, group.judged.values == half], threshold).p)
        for half in range(len(ROLE_HALVES))
    ]
    dims = ("role", *HEADS)
    arrays: dict[str, Any] = {
        "bias": (dims, every.bias),
        "p": (dims, every.p),
        "found": (dims, discoveries(every.p)),
        "replicated": (dims, halves[0] & halves[1]),
    }
    offsets = _tested(group.offset_bias, SAME_OFFSET)
    sieves, relations = group.sieve.values.tolist(), group.relation.values.tolist()
    places = [sieves.index(relation) for relation in relations]
    found = discoveries(offsets.p)
    arrays["offset_bias"] = (dims, _placed(offsets.bias, places, every.bias.shape))
    arrays["offset_p"] = (dims, _placed(offsets.p, places, every.bias.shape))
    arrays["offset_found"] = (dims, _placed(found, places, every.bias.shape))
    if "random_bias" in group:
        random = _tested(group.random_bias, threshold)
        arrays |= {
            "random_bias": (dims, random.bias),
            "random_p": (dims, random.p),
            "random_found": (dims, discoveries(random.p)),
        }
    coordinates: dict[str, Any] = {"role": sieves, **{dim: group[dim].values for dim in HEADS}}
    coordinates["kind"] = ("role", [RULES[name].kind for name in sieves])
    coordinates["title"] = ("role", [RULES[name].title for name in sieves])
    return xr.Dataset(arrays, coordinates, {**group.attrs, "threshold": threshold})


def _tested(biases: xr.DataArray, threshold: float) -> BiasTest:
    """Of biases (layer, head, sentence, role) the test of each (role, layer, head)."""
    return t_test(np.moveaxis(biases.values, (3, 2), (0, 3)), threshold)


def _placed(values: NDArray[Any], places: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Values of some roles among all: NaN, or False, for the others."""
    all_roles = np.zeros(shape, bool) if values.dtype == bool else np.full(shape, np.nan)
    all_roles[places] = values
    return all_roles
