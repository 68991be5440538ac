"""Keys that a query sees, and the text of page Sentence on a pair whose query does not see its key."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard.sentence.heads import ranking_panel, seen_keys, why_unseen
from dashboard.sentence.picture import ShownSentence, read_shown
from dashboard.sentence.why import compute_why
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store.kernels.bias import AttentionBias, LayerBias, Mask
from tests.components import components
from tests.sentences import a_pair

CAUSAL = AttentionBias([LayerBias(Mask(causal=True))] * 2)
#: Two layers that see only near keys; the second sees farther.
WINDOWS = AttentionBias([LayerBias(Mask(window=1)), LayerBias(Mask(window=2))])
PAIR = "?sentence=0&layer=1&head=1&heads=1&queries=2"


def shown_pair(store: str, query: str) -> ShownSentence:
    return read_shown(resolve(ServedStore(store), "sentence", query))


def offered(shown: ShownSentence) -> list[str]:
    (data,) = [part.data for part in components(ranking_panel(shown)) if hasattr(part, "data")]
    return [option["value"] for option in data]


def text_of(content: object) -> str:
    return "".join(part for part in components(content) if isinstance(part, str))


@pytest.mark.parametrize(
    ("bias", "layer", "seen"),
    [(None, None, [0, 1, 2, 3]), (CAUSAL, 1, [0, 1]), (WINDOWS, 0, [0, 1, 2]), (WINDOWS, None, [0, 1, 2, 3])],
)
def test_a_query_sees_what_the_mask_of_its_layer_leaves(
    bias: AttentionBias | None, layer: int | None, seen: list[int]
) -> None:
    sentence = replace(a_pair(), bias=bias)
    assert np.flatnonzero(seen_keys(sentence, 1, layer)).tolist()[:4] == seen


def test_why_a_far_key_is_not_seen_names_how_far_a_token_sees() -> None:
    sentence = replace(a_pair(), bias=WINDOWS)
    assert why_unseen(sentence, 1, 3) == ""
    assert why_unseen(sentence, 1, 3, layer=0) == (
        f"This model's tokens see none that is more than 1 token away in layer 0. Choose a key that “{sentence.wordpieces[1]}” sees."
    )


def test_the_parts_of_a_score_are_not_told_of_a_later_key_that_the_query_does_not_see(causal_store: str) -> None:
    context = resolve(ServedStore(causal_store), "sentence", f"{PAIR}&toward=4")
    query = read_shown(context).sentence.wordpieces[2]
    assert text_of(compute_why(context)) == (
        f"This model's tokens see no later token. Choose a key that “{query}” sees."
    )


def test_a_causal_model_ignores_the_direction_in_which_it_has_no_weight(causal_store: str) -> None:
    link = "text=The+film.&second=It+was+fine.&pair="
    causal = {pair: resolve(ServedStore(causal_store), "sentence", link + pair) for pair in ("ab", "ba")}
    assert (causal["ab"].state.pair, causal["ba"].state.pair) == ("all", "ba")
    assert causal["ab"].notices == ("Ignored an invalid parameter: pair=ab",)
    assert causal["ba"].notices == ()


def test_the_list_of_keys_offers_those_that_the_query_sees(causal_store: str) -> None:
    assert offered(shown_pair(causal_store, PAIR)) == ["0", "1", "2"]


def test_no_heads_are_ranked_by_a_key_that_the_query_does_not_see(causal_store: str) -> None:
    shown = shown_pair(causal_store, f"{PAIR}&toward=4")
    assert "This model's tokens see no later token." in text_of(ranking_panel(shown))
    assert offered(shown) == ["0", "1", "2", "4"]
