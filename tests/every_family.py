"""A store with a tiny model of several families, each with the tokenizer of its kind, and the pages of each in a browser."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from dashboard.pages import TOPICS
from store import Corpus
from tests.browser import until
from tests.family_models import BY_TYPE, save_family
from tests.made_once import made_once
from tests.stores import RULES, ingest_small
from tests.treebanks import write_treebank

#: Links that are opened beside the page without fields: they show each kind of content that a model may lack.
LINKS = (
    "head?layer=1&head=0&token=3",
    "head?layer=1&head=0&tab=statistics",
    "statistics?where=position:2..7",
    "features?point=L00.feedforward",
    "sentence?show=matrix",
    "sentence?show=neuron&queries=2",
    "sentence?text=The+film+was+good&other=It+was+bad.",
)
#: Heads are judged on few sentences.
_LIMITS: dict[str, Any] = {"importance": 5, **RULES}
#: The texts of a page, with those for a screen reader and behind an (i).
_TEXTS = """() => [
  document.body.innerText,
  ...[...document.querySelectorAll("[data-info], [title], [aria-label]")].flatMap((part) => [
    part.dataset.info || "", part.title || "", part.getAttribute("aria-label") || "",
  ]),
].join("\\n")"""
_WHOLE = '!!document.querySelector("#above h1") && !document.querySelector("[aria-busy=true], .skeleton")'
#: Texts that no page may show of any model.
_NEVER = re.compile(r"cannot be shown|Something went wrong|\bNaN\b|\bundefined\b|\bNone\b")
_CLS = re.compile(r"\[(?:CLS|SEP)\]")


def make_families(place: Path, families: Iterable[str]) -> str:
    """A store of these families on a treebank, with every stage of an ingest; returns its address."""
    bank = write_treebank(place.with_suffix(".conllu"))
    for name in families:
        kind = next((loss for loss in ("mlm", "next") if loss in BY_TYPE[name].architectures), "")
        limits = _LIMITS if kind else {**_LIMITS, "importance": 0}
        model = save_family(place.with_suffix(".models") / name, name, kind)
        ingest_small(
            place,
            model=model,
            data=bank,
            annotate="auto",
            views="pca-exact-2d",
            features="pca-joint",
            reviews="3",
            **limits,
        )
    return str(place)


@pytest.fixture(scope="session")
def causal_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a tiny GPT-2, whose tokens see no later token."""
    return str(made_once(tmp_path_factory, "causal", partial(make_families, families=["gpt2"])))


def wrong_words(page: Page, address: str, corpus: Corpus) -> Iterator[str]:
    """Texts of a model's pages that must not be there, each with its link; the browser's fixture reports console errors."""
    ends = {corpus.sentence_pieces(0)[place].text for place in (0, -1)}
    for link in (*TOPICS, *LINKS):
        page.goto(f"{address}/{link}{'&' if '?' in link else '?'}model={corpus.name}")
        until(page, _WHOLE)
        found = page.evaluate(_TEXTS)
        wrong = [*_NEVER.findall(found), *([] if "[CLS]" in ends else _CLS.findall(found))]
        if wrong:
            yield f"{corpus.name} {link}: {sorted(set(wrong))}"
