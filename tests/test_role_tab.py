"""Tab Role of page Head: the role of a head, its shares and tests, and sentences as evidence."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.roles.evidence import (
    AGAINST,
    DECILES,
    ELSEWHERE,
    WHERE,
    RoleKeys,
    RoleSentences,
    every_sentence,
    every_wordpiece,
    evidence_part,
    patterns_of,
    role_sentences,
    strongest_wordpieces,
)
from dashboard.roles.head_roles import RoleShare, RoleTest, beyond_chance, clause, smaller_roles, what_it_does
from dashboard.roles.panel import MOST_SMALLER, SECTIONS, RolePanel, distance_shares, draw_role_panel, read_role_panel
from dashboard.ui.markup import Unmade
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import RULES, roles_for
from store.schema.corpus import CLS
from tests.client import shown
from tests.components import components
from tests.ruled import PIECES, attending, written_sentence
from tests.stores import RULES as LIMITS_OF_RULES
from tests.stores import Ingest

ON_HEAD = "?layer=1&head=0"


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def roles_client(roles_store: str) -> FlaskClient:
    return create_app(ServedStore(roles_store)).server.test_client()


@pytest.fixture(scope="module")
def lone_client(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """A client of a store with the roles of one sentence, without interval and without a second half."""
    store = ingest(tmp_path_factory.mktemp("lone") / "store", sentences=1, **LIMITS_OF_RULES)
    return create_app(ServedStore(store)).server.test_client()


@pytest.fixture(scope="module")
def wordless_client(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    """A client of a store with roles and without words."""
    store = ingest(tmp_path_factory.mktemp("wordless") / "store", **LIMITS_OF_RULES)
    return create_app(ServedStore(store)).server.test_client()


def panel(corpus: Corpus, **fields: Any) -> RolePanel:
    read = read_role_panel(corpus, LinkState(page="head", layer=1, head=0).with_(**fields), None)
    assert isinstance(read, RolePanel)
    return read


def texts(parts: object) -> str:
    return " ".join(part for part in components(parts) if isinstance(part, str))


def open_tab(client: FlaskClient, search: str) -> str:
    """The tab that a link opens."""
    answer = client.post("/data/page", data={"pathname": "/head", "search": search, "snapshot": ""})
    (tabs,) = (part for part in every(answer.json["beside"]) if part.get("type") == "Tabs")
    return str(tabs["props"]["value"])


def every(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for each in node:
            yield from every(each)
    elif isinstance(node, dict):
        yield node
        yield from every(list(node.values()))


# -- the sentence -------------------------------------------------------------------------------------


def named_role(title: str, bias: float, *, found: bool = True, replicated: bool = True) -> RoleShare:
    return RoleShare(title, title, "", "", 0.1, RoleTest(bias, 0.001, found, replicated, None))


def test_what_is_no_chance_is_said_the_largest_bias_first() -> None:
    roles = [
        named_role("commas", 2.5, replicated=False),
        named_role("itself", 9),
        RoleShare("", "3 smaller roles", "", "", 0.1),
    ]
    assert beyond_chance(roles, "2") == (
        "The test finds itself (9.0 times the attention of an average word) and commas (2.5 times, in one half of the sentences only)."
    )


def test_of_many_roles_that_the_test_finds_some_are_named() -> None:
    roles = [named_role(name, bias) for bias, name in enumerate("abcde", 3)]
    assert beyond_chance(roles, "2").endswith("d (6.0 times), c (5.0 times) and 2 more.")


def test_where_no_role_passes_the_test_a_sentence_says_so() -> None:
    said = beyond_chance([named_role("commas", 2.5, found=False)], "1.5")
    assert said == "No role passes the test: none gets clearly more than 1.5 times the attention of an average word."


def test_a_role_that_is_not_tested_says_so(corpus: Corpus) -> None:
    shown = panel(corpus)
    untested = [role for role in shown.shares if role.test is None and role.name in RULES]
    assert texts(draw_role_panel(shown)).count("not tested") == len(untested) > 0


def test_the_shares_say_what_they_are_means_over_and_how_wide_100_per_cent_is(corpus: Corpus) -> None:
    judged = corpus.rules.attrs["judged_sentences"]
    said = f"Means over the words and marks of {judged} sentences that no rule was fitted on. A bar as wide as its column is 100%."
    assert said in texts(draw_role_panel(panel(corpus)))


def test_the_columns_of_distances_say_their_scale(roles_client: FlaskClient) -> None:
    assert "The highest column is the largest share." in shown(roles_client, "beside", "/head", f"{ON_HEAD}&tab=role")


def test_the_tab_links_to_each_of_its_lower_parts(roles_client: FlaskClient) -> None:
    tab = shown(roles_client, "beside", "/head", f"{ON_HEAD}&tab=role")
    for part in SECTIONS:
        assert f"#{part}'" in tab
    for part in set(SECTIONS) - {AGAINST}:  # which is in the sentences of the role, computed after the page
        assert f"'id': '{part}'" in tab


def test_a_head_is_told_by_its_largest_roles_and_by_what_is_not_explained() -> None:
    shares = {"self": 0.09, "next": 0.81, "comma": 0.03, "cls": 0.02, UNEXPLAINED: 0.05}
    expected = "attends to the next token (81%) and to the token itself (9%); 5% goes to smaller roles and 5% is not explained."
    assert what_it_does(shares) == expected


def test_a_head_without_a_larger_role_mixes_many() -> None:
    assert what_it_does({"self": 0.04, "next": 0.03, UNEXPLAINED: 0.93}) == (
        "mixes many roles, none above 5%; 93% is not explained."
    )


@pytest.mark.parametrize("name", roles_for(words=True))
def test_every_role_has_its_clause(name: str) -> None:
    told = clause(RULES[name].sentence)
    assert told.split()[0] in ("to", "from", "evenly", "two")
    assert "ttend" not in told


# -- shares and tests ---------------------------------------------------------------------------------


def test_the_drawn_shares_of_each_head_sum_to_one(corpus: Corpus) -> None:
    for layer, head in np.ndindex(corpus.layers, corpus.heads):
        listed = panel(corpus, layer=layer, head=head).shares
        assert sum(role.share for role in listed) == pytest.approx(1)
        assert listed[-1].name == UNEXPLAINED


def test_every_small_role_that_the_test_finds_is_counted(corpus: Corpus) -> None:
    test, names = RoleTest(3, 0.001, True, True, None), list(RULES)[:9]
    every = [RoleShare(name, name, "", "", 0.01, test) for name in names]
    shown = replace(panel(corpus), shares=(), smaller=smaller_roles(every))
    page = " ".join(texts(draw_role_panel(shown)).split())
    assert f"{names[2]} (3.0 times) and 6 more." in page
    assert f"{names[MOST_SMALLER - 1]} 3.0 times and 3 more." in page


def test_a_lower_threshold_finds_what_a_higher_one_does_not(corpus: Corpus) -> None:
    drawn = [texts(draw_role_panel(panel(corpus, threshold=threshold))) for threshold in ("0.2", "3")]
    assert "above 0.2, p" in drawn[0]
    assert "not above 3" in drawn[1]
    assert "above 3, p" not in drawn[1]


def test_the_threshold_of_the_link_is_that_of_the_tests(roles_client: FlaskClient) -> None:
    assert "not above 1.5" in shown(roles_client, "beside", "/head", f"{ON_HEAD}&threshold=1.5")
    assert "not above 2" in shown(roles_client, "beside", "/head", ON_HEAD)


def test_each_rule_set_stands_with_its_skill(corpus: Corpus) -> None:
    even, *others = panel(corpus).scores
    assert even.skill == 0
    for score in others:
        assert score.skill == pytest.approx((score.iou - even.iou) / (1 - even.iou))
        assert score.low <= score.iou <= score.high


@pytest.mark.parametrize(("offset", "bin_"), [(-11, 0), (-9, 0), (-8, 1), (-1, 4), (0, 5), (2, 7), (4, 8), (11, 10)])
def test_a_distance_is_counted_in_its_bin(offset: int, bin_: int) -> None:
    profile = np.zeros(23)
    profile[offset + 11] = 1
    assert list(distance_shares(profile).values()) == [float(place == bin_) for place in range(11)]


# -- evidence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["next", "cls", "governor", "noun"])
def test_the_share_of_a_sentence_is_that_of_a_recount(corpus: Corpus, role: str) -> None:
    found = role_sentences(corpus, 1, 0, role)
    recounted = {
        sentence: share
        for sentence in range(corpus.n_sentences)
        if 7 <= corpus.sentences.row_size.values[sentence] <= 20
        and (share := recount(corpus, sentence, role)) is not None
    }
    assert found.sentences.tolist() == list(recounted)
    np.testing.assert_allclose(found.shares, list(recounted.values()), atol=1e-4)


def recount(corpus: Corpus, sentence: int, role: str) -> float | None:
    """Share of the words' attention on the keys of a role, mean over the words with such a key."""
    tokens = corpus.rule_text.sentence(sentence)
    targets, pattern = RULES[role].targets(tokens), corpus.pattern(sentence, layer=1, head=0).values
    keys_of = [
        [key for key in range(len(tokens)) if targets[query, key] and (role == "cls" or tokens.is_word[key])]
        for query in range(len(tokens))
    ]
    asked = [query for query in range(len(tokens)) if tokens.is_word[query] and keys_of[query]]
    return sum(float(pattern[query][keys_of[query]].sum()) for query in asked) / len(asked) if asked else None


def test_a_head_that_has_the_role_gets_its_share_and_a_broad_role_only_what_it_predicts() -> None:
    tokens = written_sentence()
    even = np.full((len(tokens), len(tokens)), 1 / len(tokens))
    near, all_evenly, previous = (RoleKeys.of(RULES[role], tokens) for role in ("near", "even", "previous"))
    assert previous.share(attending(RULES["previous"].targets(tokens), share=1)) == 1
    assert all_evenly.share(even) == pytest.approx(tokens.is_word.mean())
    assert near.share(even) < all_evenly.share(even)


def test_of_a_broad_role_the_share_is_what_its_weights_predict() -> None:
    tokens, words = written_sentence(), np.flatnonzero(written_sentence().is_word)
    even = np.full((len(tokens), len(tokens)), 1 / len(tokens))
    shares = []
    for query in words:
        decay = [np.exp(-abs(int(key) - int(query)) / 5) if key != query else 0 for key in words]
        between = len(words) / len(tokens)
        shares.append(sum(min(1 / len(tokens), between * each / sum(decay)) for each in decay))
    assert RoleKeys.of(RULES["near"], tokens).share(even) == pytest.approx(np.mean(shares), abs=1e-6)


def test_a_sentence_without_a_key_of_the_role_has_no_share() -> None:
    tokens = written_sentence()
    assert np.isnan(RoleKeys.of(RULES["antecedent"], tokens).share(attending(np.ones((len(tokens), len(tokens))))))


def test_lines_to_the_keys_of_the_role_are_told_from_the_others() -> None:
    tokens = written_sentence()
    pattern = attending(RULES["cls"].targets(tokens))
    parts = RoleKeys.of(RULES["cls"], tokens).drawn(pattern)
    words = tokens.is_word[:, None] & ((tokens.flags & CLS) != 0)
    np.testing.assert_array_equal(parts[WHERE], np.where(words, pattern, 0))
    np.testing.assert_array_equal(parts[WHERE] + parts[ELSEWHERE], pattern)
    assert parts[WHERE].shape == (len(PIECES), len(PIECES))


def test_of_a_tenth_the_sentence_in_its_middle_is_shown() -> None:
    shares = np.random.default_rng(0).permutation(100) / 100
    found = RoleSentences(np.arange(100), shares, even=0)
    assert {decile: shares[place] for decile, place in found.deciles.items()} == {
        decile: pytest.approx((10 * decile - 5) / 100) for decile in DECILES
    }
    assert shares[found.least].tolist() == [0, 0.01, 0.02]


def test_no_drawn_sentence_speaks_against_the_role() -> None:
    found = RoleSentences(np.arange(8), np.arange(8) / 8, even=0)
    assert sorted(found.deciles.values()) == [0, 1, 2, 4, 6, 7]
    assert found.least == [3, 5]


def test_of_few_sentences_none_is_shown_twice() -> None:
    found = RoleSentences(np.array([3, 5, 8]), np.array([0.5, 0.1, 0.3]), even=0)
    assert list(found.deciles.values()) == [0, 2, 1]


def test_wordpieces_are_ranked_by_their_mean_and_rare_ones_left_out() -> None:
    sums, counts = np.array([4.0, 3.0, 6.0, 0.0]), np.array([4, 10, 10, 0])
    ranked = strongest_wordpieces(np.array(["rare", "low", "high", "absent"], object), sums, counts)
    assert [(piece.name, piece.mean, piece.count) for piece in ranked] == [("high", 0.6, 10), ("low", 0.3, 10)]


def test_the_share_of_queries_and_the_weight_of_keys_are_means_over_the_sample(corpus: Corpus) -> None:
    found = role_sentences(corpus, 1, 0, "next")
    of_query, of_key = defaultdict(list), defaultdict(list)
    for sentence in found.sentences.tolist():
        tokens, pattern = corpus.rule_text.sentence(sentence), corpus.pattern(sentence, layer=1, head=0)
        pieces = pattern.query_wordpiece.values
        for query in range(len(tokens) - 1):
            if tokens.is_word[query] and tokens.is_word[query + 1]:
                of_query[pieces[query]].append(float(pattern[query, query + 1]))
                of_key[pieces[query + 1]].append(float(pattern[query, query + 1]))
    for listed, counted in ((found.queries, of_query), (found.keys, of_key)):
        assert listed
        for piece in listed:
            assert (piece.count, piece.mean) == (
                len(counted[piece.name]),
                pytest.approx(np.mean(counted[piece.name]), abs=1e-4),
            )
        frequent = [np.mean(each) for each in counted.values() if len(each) >= 5]
        assert listed[0].mean == pytest.approx(max(frequent), abs=1e-4)


def test_wordpieces_of_the_corpus_are_counted_over_all_its_sentences(corpus: Corpus) -> None:
    found, sampled = every_sentence(corpus, 1, 0, "previous"), role_sentences(corpus, 1, 0, "previous")
    assert len(found.sentences) == corpus.n_sentences >= len(sampled.sentences)
    token_id, words = corpus.tokens.token_id.values, corpus.tokens.word_index.values >= 0
    for piece in found.queries:
        own = np.flatnonzero((corpus.vocab[token_id] == piece.name) & words)
        first = corpus.tokens.position.values[own] == 1  # whose previous token is neither a word nor a key
        assert piece.count == len(own) - first.sum()


def test_they_are_asked_for_by_the_head(roles_store: str) -> None:
    served = ServedStore(roles_store)
    ask, other = (resolve(served, "/head", f"{ON_HEAD}&evidence=next&wordpieces={head}") for head in ("1-0", "0-1"))
    assert "sentences with such a key" in str(every_wordpiece(ask.corpus, ask.state))
    assert "Count over" not in str(evidence_part(ask.corpus, ask.state))
    assert every_wordpiece(other.corpus, other.state) == []
    assert "Count over" in str(evidence_part(other.corpus, other.state))


def test_patterns_of_many_sentences_are_those_of_each(corpus: Corpus) -> None:
    sentences = [0, 2, 5, 6]
    for sentence, pattern in zip(sentences, patterns_of(corpus, 1, 0, sentences, read=2), strict=True):
        np.testing.assert_allclose(pattern, corpus.pattern(sentence, layer=1, head=0).values, atol=1e-6)


def test_even_attention_has_the_share_of_its_keys(corpus: Corpus) -> None:
    found = role_sentences(corpus, 1, 0, "cls")
    sizes = corpus.sentences.row_size.values[found.sentences]
    assert found.even == pytest.approx((1 / sizes).mean())


def test_the_evidence_says_of_how_many_tenths_a_sentence_is_drawn(roles_store: str) -> None:
    context = resolve(ServedStore(roles_store), "/head", f"{ON_HEAD}&evidence=next")
    page = texts(evidence_part(context.corpus, context.state))
    assert "Drawn: the middle sentence of 6 of the ten tenths" in page


def test_the_evidence_compares_with_even_attention_only_what_goes_to_named_keys(
    roles_store: str, corpus: Corpus
) -> None:
    """Even attention fits a broad role nearly always better than the head, which seemed to contradict the role."""
    state = resolve(ServedStore(roles_store), "/head", ON_HEAD).state
    captions = {
        role: texts(evidence_part(corpus, state.with_(evidence=role))) for role in ("next", "cls", "even", "near")
    }
    for role in ("next", "cls"):
        found = role_sentences(corpus, 1, 0, role)
        shares = f"{100 * found.shares.mean():.0f}% of the attention goes where the role says (even attention: {100 * found.even:.0f}%)"
        assert shares in captions[role]
    for role in ("even", "near"):
        share = 100 * role_sentences(corpus, 1, 0, role).shares.mean()
        assert f"{share:.0f}% of the attention is as this role alone predicts, mean of" in captions[role]
        assert "even attention" not in captions[role]


def test_the_evidence_links_to_each_sentence_with_the_head_alone(roles_store: str, corpus: Corpus) -> None:
    context = resolve(ServedStore(roles_store), "/head", f"{ON_HEAD}&evidence=next")
    links = [
        part.href for part in components(evidence_part(context.corpus, context.state)) if getattr(part, "href", None)
    ]
    found = role_sentences(corpus, 1, 0, "next")
    chosen = [int(found.sentences[place]) for place in (*found.deciles.values(), *found.least)]
    states = [resolve(ServedStore(roles_store), *link.split("?")).state for link in links]
    assert [(state.page, state.sentence, state.layer, state.heads) for state in states] == [
        ("sentence", sentence, 1, "0") for sentence in chosen
    ]


# -- links --------------------------------------------------------------------------------------------


def test_a_bare_link_opens_the_roles_where_there_are_some(roles_client: FlaskClient, client: FlaskClient) -> None:
    assert open_tab(roles_client, ON_HEAD) == "role"
    assert open_tab(client, ON_HEAD) == "statistics"


@pytest.mark.parametrize(
    ("search", "tab"),
    [("&tab=statistics", "statistics"), ("&token=3", "point"), ("&where=position:1..2", "selection")],
)
def test_a_link_with_a_tab_a_token_or_a_filter_opens_as_before(
    roles_client: FlaskClient, search: str, tab: str
) -> None:
    assert open_tab(roles_client, f"{ON_HEAD}{search}") == tab


def test_without_roles_the_tab_says_how_to_get_them(client: FlaskClient) -> None:
    tab = shown(client, "beside", "/head", f"{ON_HEAD}&tab=role")
    assert "Rules and roles of heads: not computed." in tab
    assert "headscape ingest" in tab


def test_without_words_roles_of_grammar_are_left_out(wordless_client: FlaskClient) -> None:
    assert "What speaks against it" in shown(wordless_client, "beside", "/head", ON_HEAD)
    refused = shown(wordless_client, "above", "/head", f"{ON_HEAD}&evidence=verb_of_object")
    assert "Ignored an invalid parameter: evidence=verb_of_object" in refused


def test_one_sentence_has_roles_without_numbers_that_are_none(lone_client: FlaskClient) -> None:
    tab = shown(lone_client, "beside", "/head", ON_HEAD)
    assert "over 1 sentence" in tab
    assert "nan" not in tab.lower()


def test_roles_that_are_unknown_say_what_to_do(corpus: Corpus) -> None:
    unknown = corpus.roles.assign(share=corpus.roles.share * np.nan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(corpus), "roles", unknown)
        read = read_role_panel(corpus, LinkState(page="head"), None)
    assert isinstance(read, Unmade)
    assert read.remedy == "Run `headscape ingest` with more sentences."


@pytest.mark.parametrize("search", ["&evidence=<script>", "&evidence=unexplained", "&evidence=rest", "&threshold=1e9"])
def test_a_field_that_is_no_choice_is_ignored_with_a_notice(roles_client: FlaskClient, search: str) -> None:
    assert "Ignored an invalid parameter" in shown(roles_client, "above", "/head", f"{ON_HEAD}{search}")
    assert "<script>" not in shown(roles_client, "beside", "/head", f"{ON_HEAD}{search}")
