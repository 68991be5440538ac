"""The figures of docs/heads.md, from a store with rules and roles: `STORE=... python -m tests.bench roles`."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store import Corpus, open_corpus
from store.kernels.roles import Sieves, discoveries, t_test
from store.kernels.rules import targets_of
from store.schema.corpus import RULE_SETS
from tests.bench.table import show

#: IoU from which a head counts as explained.
EXPLAINED = (0.6, 0.75)
THRESHOLDS = (1.0, 1.5, 2.0, 3.0)
#: Roles of one offset, and of grammar, in the division of Pande et al. 2021.
LOCAL = ("previous", "next", "second_previous", "second_next")


def roles(place: str) -> None:
    """Print three tables: rules, roles and tests of all heads."""
    corpus = open_corpus(place)
    title = f"{corpus.title}, {corpus.layers * corpus.heads} heads"
    show(
        f"Rules of {title}",
        ("rules", "IoU", "skill", *map("IoU ≥ {}".format, EXPLAINED), "√JSD", "top key"),
        _rules(corpus.rules),
    )
    show(f"Roles of {title}", ("", "mean", "smallest"), _roles(corpus.roles))
    columns = ("above", "tests", "discoveries", "random weights", "permuted words", "found by the other half")
    show(f"Tests of {title}", columns, _tests(corpus))


def _rules(rules: xr.Dataset) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in RULE_SETS:
        own = rules.sel(rules=name)
        shares = (f"{float((own.iou >= least).mean()):.0%}" for least in EXPLAINED)
        scores = (f"{float(own[score].mean()):.3f}" for score in ("iou", "skill", "sqrt_jsd", "top_key"))
        iou, skill, distance, top = scores
        rows.append((name, iou, skill, *shares, distance, top))
    return rows


def _roles(roles: xr.Dataset) -> list[tuple[str, str, str]]:
    """Rows of the table of roles: shares by breadth, explained attention between words, and agreement of both halves."""
    by_breadth = roles.share.groupby("breadth").sum("role")
    shares = {f"share, {breadth}": by_breadth.sel(breadth=breadth) for breadth in by_breadth.breadth.values}
    numbers = {name: roles[name] for name in ("explained", "even_explained", "skill", "agreement", "rand_index")}
    return [
        (name, f"{float(each.mean()):.3f}", f"{float(each.min()):.3f}") for name, each in (shares | numbers).items()
    ]


def _tests(corpus: Corpus) -> list[tuple[str, ...]]:
    """Discoveries by threshold: in the model, with random weights, with permuted words, and how many the other half repeats."""
    judged = np.arange(corpus.role_biases.sizes["sentence"]) >= corpus.rules.attrs["fitted_sentences"]
    biases, permuted = corpus.role_biases.values, _permuted(corpus)
    rows: list[tuple[str, ...]] = []
    for threshold in THRESHOLDS:
        tests = corpus.test_roles(threshold)
        random = str(int(tests.random_found.sum())) if "random_found" in tests else ""
        halves = [_found(biases[:, :, half], threshold) for half in (~judged, judged)]
        both = (halves[0] & halves[1]).sum()
        replicated = ", ".join(f"{both / max(1, half.sum()):.0%}" for half in halves)
        found = f"{int(tests.found.sum()):,}"
        tested = f"{int(tests.p.notnull().sum()):,}"
        rows.append((f"{threshold:g}", tested, found, random, str(_found(permuted, threshold).sum()), replicated))
    tests = corpus.role_tests
    local = tests.found.sel(role=list(LOCAL)).any("role")
    grammar = tests.found.sel(role=tests.kind == "grammar").any("role")
    shares = (tests.found.any("role").mean(), local.mean(), grammar.mean(), (local & grammar).sum() / grammar.sum())
    print(
        "heads with a role, of an offset, of grammar; of the last with one of an offset:",
        *(f"{float(share):.0%}" for share in shares),
    )
    return rows


def _found(biases: NDArray[np.floating], threshold: float) -> NDArray[np.bool_]:
    """Discoveries (layer, head, sieve) of biases (layer, head, sentence, sieve)."""
    return discoveries(t_test(np.moveaxis(biases, 2, 3), threshold).p)


def _permuted(corpus: Corpus) -> NDArray[np.float32]:
    """Biases (layer, head, sentence, sieve) of the rules over permuted words, for which no role but `self` is true."""
    generator, biases = np.random.default_rng(0), corpus.role_biases
    names = [name for name in biases.sieve.values.tolist() if name != "self"]
    each = []
    for sentence in biases.sentence.values.tolist():
        tokens, weights = corpus.rule_text.sentence(sentence), corpus.weights(sentence)
        order, words = np.arange(len(tokens)), np.flatnonzero(tokens.is_word)
        order[words] = generator.permutation(words)
        targets = targets_of(names, tokens)[:, order][:, :, order] > 0
        own = Sieves.of(targets, tokens.is_word).bias(weights.reshape(-1, *weights.shape[2:]))
        each.append(own.reshape(*weights.shape[:2], -1))
    return np.stack(each, axis=2)
