"""Answers of `headscape mcp` to language models: the numbers of the store, through a client of the protocol."""

import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import store
from dashboard.programs.__main__ import main, protocol_server, refusing
from dashboard.programs.tools import StoreTools
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.schema.model import STATISTICS
from tests.three_models import key_of

SERVER = "http://localhost:8050"
Ask = Callable[..., Any]


def run(call: Callable[..., Awaitable[Any]], *given: object) -> Any:
    """Result of a coroutine that runs in a new thread: a browser of another test keeps the loop of this thread."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(anyio.run, call, *given).result()


def asker(place: str) -> Ask:
    """A function that asks a server of a store; `AssertionError` with the server's sentence where it refuses."""
    server = protocol_server(StoreTools(ServedStore(place), SERVER))

    async def call(tool: str, asked: dict[str, Any]) -> Any:
        async with Client(server) as client:
            answer = await client.call_tool(tool, asked)
        assert not answer.is_error, answer.content[0].text  # type: ignore[union-attr]
        return answer.structured_content

    return lambda tool, **asked: run(call, tool, asked)


@pytest.fixture(scope="module")
def ask(roles_store: str) -> Ask:
    return asker(roles_store)


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return store.open_corpus(roles_store)


def test_every_tool_only_reads_and_says_what_it_answers(roles_store: str) -> None:
    async def listed() -> Any:
        async with Client(protocol_server(StoreTools(ServedStore(roles_store)))) as client:
            return (await client.list_tools()).tools

    tools = run(listed)
    assert len(tools) == 13
    assert all(tool.annotations.read_only_hint and tool.description and tool.output_schema for tool in tools)


def test_models_are_those_of_the_store_with_their_sizes(ask: Ask, corpus: Corpus) -> None:
    (model,) = ask("list_models")["models"]
    assert (model["name"], model["layers"], model["heads"]) == (corpus.name, corpus.layers, corpus.heads)
    assert (model["sentences"], model["tokens"]) == (corpus.n_sentences, corpus.n_tokens)
    assert model["has_roles"]
    assert model["has_relations"]


def test_statistics_are_listed_with_formula_and_paper(ask: Ask) -> None:
    (entropy,) = [row for row in ask("list_statistics")["result"] if row["name"] == "entropy"]
    assert entropy == {"name": "entropy"} | asdict(STATISTICS["entropy"])


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_heads_are_ranked_by_a_statistic_with_intervals(ask: Ask, corpus: Corpus, order: str) -> None:
    answer = ask("rank_heads", statistic="entropy", order=order, queries="cls", count=3)
    means = corpus.head_statistic.sel(source="cls", statistic="entropy")
    expected = sorted(means.values.ravel().tolist(), reverse=order == "largest")[:3]
    assert [row["value"] for row in answer["ranked"]] == expected
    assert (answer["shown"], answer["heads"]) == (3, means.size)
    first = answer["ranked"][0]
    between = corpus.head_interval.sel(source="cls", statistic="entropy", layer=first["layer"], head=first["number"])
    assert [first["low"], first["high"]] == between.values.tolist()
    assert first["rank"] == (1 if order == "largest" else means.size)


def test_heads_with_a_role_are_those_of_the_test_the_largest_bias_first(default_store: str) -> None:
    ask, corpus = asker(default_store), store.open_corpus(default_store)
    role = ask("list_roles")["result"][0]
    tests = corpus.role_tests.sel(role=role["name"])
    found = tests.found.values & (tests.offset_found.values | (str(tests.kind.values) != "grammar"))
    answer = ask("heads_with_role", role=role["name"], count=200)
    assert role["heads"] == answer["heads"] == found.sum()
    assert [row["value"] for row in answer["ranked"]] == sorted(tests.bias.values[found].tolist(), reverse=True)


def test_a_head_is_described_by_roles_that_sum_to_1_and_by_every_statistic(ask: Ask, corpus: Corpus) -> None:
    card = ask("describe_head", layer=1, head=0)
    assert sum(role["share"] for role in card["roles"]) == pytest.approx(1, abs=1e-5)
    assert card["does"] == str(corpus.head_roles.values[1, 0])
    means = corpus.head_statistic.sel(source="all", layer=1, head=0)
    assert [row["value"] for row in card["statistics"]] == means.values.tolist()


def test_relations_at_which_a_head_is_best_are_on_its_card(ask: Ask, corpus: Corpus) -> None:
    heads = [(layer, head) for layer in range(corpus.layers) for head in range(corpus.heads)]
    named = [
        row["relation"] for layer, head in heads for row in ask("describe_head", layer=layer, head=head)["best_at"]
    ]
    assert sorted(named) == sorted(map(str, corpus.relations.relation.values))


def test_sentences_are_found_by_words_and_label(ask: Ask, corpus: Corpus) -> None:
    word = corpus.counted_text(3).split()[0]
    answer = ask("find_sentences", words=word, count=200)
    texts = [corpus.counted_text(sentence) for sentence in range(corpus.counted_sentences)]
    assert [row["text"] for row in answer["sentences"]] == [text for text in texts if word.lower() in text.lower()]


def test_tenths_of_the_sentences_part_them_by_a_statistic_of_the_head(ask: Ask, corpus: Corpus) -> None:
    tenths = [
        ask("sentences_of_head", layer=0, head=1, statistic="to_sep", decile=decile, count=200)
        for decile in range(1, 11)
    ]
    values = [row["value"] for tenth in tenths for row in tenth["sentences"]]
    assert sum(tenth["found"] for tenth in tenths) == len(values) == corpus.n_sentences
    assert values == sorted(values, reverse=True)
    first = tenths[0]["sentences"][0]
    rows = corpus.sentence_rows(first["sentence"])
    own = corpus.token_statistic.sel(statistic="to_sep").isel(layer=0, head=1, token=rows).values
    assert first["value"] == pytest.approx(own.astype(np.float64).mean())


def test_the_largest_weights_are_those_of_the_pattern(ask: Ask, corpus: Corpus) -> None:
    answer = ask("attention", sentence=2, layer=1, head=1, count=5)
    pattern = corpus.pattern(2, layer=1, head=1)
    assert [row["weight"] for row in answer["weights"]] == sorted(pattern.values.ravel().tolist(), reverse=True)[:5]
    first = answer["weights"][0]
    assert first["weight"] == float(pattern[first["query"], first["key"]])
    assert first["key_wordpiece"] == str(pattern.key_wordpiece.values[first["key"]])
    assert answer["pairs"] == pattern.size


def test_accuracy_at_a_relation_is_that_of_the_half_that_did_not_rank(ask: Ask, corpus: Corpus) -> None:
    name = str(corpus.relations.relation.values[0])
    answer = ask("relation_accuracy", relation=name, count=1)
    cell = corpus.relations.sel(relation=name, direction="forward")
    layer, head = np.unravel_index(int(np.nan_to_num(cell.chosen_accuracy.values, nan=-1).argmax()), (2, 2))
    (first,) = answer["ranked"]
    assert (first["layer"], first["number"]) == (layer, head)
    assert first["accuracy"] == pytest.approx(float(cell.reported_accuracy[layer, head]), nan_ok=True)
    assert answer["pairs"] == int(cell.pairs.sel(half="reported on"))


def test_a_pattern_without_a_pair_has_no_accuracy(bank_store: str) -> None:
    answer = asker(bank_store)("relation_accuracy", relation="PUNCT -> *", count=1)
    assert (answer["pairs"], answer["best_offset_accuracy"]) == (0, None)
    assert answer["ranked"][0]["accuracy"] is None


def test_the_shares_of_what_arrives_sum_to_1(tiny_store: str) -> None:
    ask, corpus = asker(tiny_store), store.open_corpus(tiny_store)
    whole = ask("what_arrives", sentence=4)["tokens"]
    shares = corpus.context_mixing(4, rolled_out=True).values[-1]
    assert [row["share"] for row in whole] == pytest.approx(shares.mean(axis=0).tolist())
    own = ask("what_arrives", sentence=4, target=1)["tokens"]
    assert [row["share"] for row in own] == pytest.approx(shares[1].tolist())
    assert sum(row["attention"] for row in own) == pytest.approx(1, abs=1e-5)


def test_two_models_are_compared_head_by_head(three_models: str) -> None:
    ask, snapshot = asker(three_models), store.open_snapshot(three_models)
    names = [key_of(snapshot, name) for name in ("tiny", "second")]
    answer = ask("compare_models", other=names[1], model=names[0], count=200)
    assert "&statistic=entropy" in answer["changed"][0]["link"]
    own, other = (
        snapshot.corpus(name).head_statistic.sel(source="all", statistic="entropy").values.ravel() for name in names
    )
    rows = sorted(answer["changed"], key=lambda row: (row["layer"], row["number"]))
    assert [row["difference"] for row in rows] == pytest.approx((other - own).tolist(), abs=1e-5)
    divergences = [row["divergence"] for row in answer["changed"]]
    assert divergences == sorted(divergences, reverse=True)


def test_what_an_answer_has_computed_is_kept_for_the_next(roles_store: str) -> None:
    tools = StoreTools(ServedStore(roles_store))
    refusing(tools.list_roles, tools.served_store.cache)()
    assert tools.served_store.cache.size > 0


def test_a_link_opens_the_view_and_says_what_was_changed(ask: Ask) -> None:
    view = ask("link_to_view", page="head", fields={"layer": 1, "head": 99})
    assert view["link"] == f"{SERVER}/head?layer=1&head=1"
    assert view["notices"] == ["head=99 is out of range (0-1); showing 1"]


@pytest.mark.parametrize(
    ("tool", "asked", "sentence"),
    [
        ("describe_head", {"layer": 9, "head": 0}, "There is no head L9 H0. Choose one of L0 to L1 and H0 to H1."),
        ("rank_heads", {"statistic": "fame"}, "There is no 'fame'. Choose one of: to_cls, to_sep"),
        ("rank_heads", {"statistic": "received"}, "Over all queries, attention received is 1 in every head. Choose"),
        ("heads_with_role", {"role": "hero"}, "There is no 'hero'. Choose one of: "),
        ("attention", {"sentence": 10**9, "layer": 0, "head": 0}, "is out of range. Choose 0 to "),
        ("relation_accuracy", {"relation": "love"}, "'love' is no relation of these words. Choose one of "),
        ("compare_models", {"other": "other"}, "There is no model 'other' in this store. Choose one of: "),
        ("what_arrives", {"sentence": 0}, "mixing"),
        ("find_sentences", {"label": "sour"}, "The reviews of this corpus have no labels. Leave the label out."),
        ("rank_heads", {"statistic": "entropy", "count": 0}, "greater than or equal to 1"),
    ],
)
def test_what_is_not_there_is_a_sentence_on_what_to_choose(
    ask: Ask, tool: str, asked: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AssertionError) as refusal:
        ask(tool, **asked)
    assert sentence in str(refusal.value)


def test_the_command_answers_a_client_on_standard_input_and_output(tiny_store: str) -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "headscape", "mcp", tiny_store])

    async def call() -> Any:
        async with Client(stdio_client(command)) as client:
            return (await client.call_tool("list_models", {})).structured_content

    assert run(call)["snapshot"] == store.open_snapshot(tiny_store).id


def test_a_store_that_is_not_there_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("mcp: There is no store at ")
