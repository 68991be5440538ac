"""Rules, roles and tests of the heads as the ingest stores them, and as `store.Corpus` gives them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import store
from ingest.heads import roles as stage
from ingest.heads.layer_roles import RuleBench
from store.kernels.head_tables import PARTS, TableSums, TokenRows
from store.kernels.roles import UNEXPLAINED
from store.kernels.rules import RULES as TEXT_RULES
from store.kernels.rules import Grammar, SentenceTokens, roles_for
from store.repository.arrays import array_of
from store.repository.errors import NotIngested
from store.rules import RuleSentences
from store.schema.corpus import CLS, ROOT, RULE_SETS, SEP
from store.verify import verify
from tests.interruption import interrupted
from tests.made_once import made_once
from tests.stores import RULES, Ingest, rewritten
from tests.treebanks import write_treebank

ReadArrays = Callable[[str], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> store.Corpus:
    return store.open_corpus(roles_store)


@pytest.fixture
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "bank.conllu", write_treebank)


def test_shares_of_a_head_sum_to_one(corpus: store.Corpus) -> None:
    share = corpus.roles.share
    assert share.dims == ("role", "layer", "head")
    assert share.role.values[-1] == UNEXPLAINED
    np.testing.assert_allclose(share.sum("role"), 1, atol=1e-6)
    assert (share >= 0).all()


def test_roles_have_their_kind_and_title(corpus: store.Corpus) -> None:
    subject = corpus.roles.sel(role="verb_of_subject")
    assert [str(subject[name].values) for name in ("kind", "breadth", "title")] == [
        "grammar",
        "narrow",
        "subject to verb",
    ]


def test_weights_of_both_halves_are_of_roles_between_words(corpus: store.Corpus) -> None:
    weight = corpus.roles.weight
    np.testing.assert_allclose(weight.sum("role"), 1)
    assert weight.sel(role=["cls", "sep", UNEXPLAINED]).isnull().all()
    np.testing.assert_allclose(corpus.roles.agreement, weight.min("half").sum("role"))


def test_rules_have_their_scores_beside_uniform_attention(corpus: store.Corpus) -> None:
    rules = corpus.rules
    assert rules.rules.values.tolist() == list(RULE_SETS)
    assert (rules.skill.sel(rules="uniform") == 0).all()
    low, high = rules.interval
    assert ((low <= rules.iou) & (rules.iou <= high)).all()
    np.testing.assert_allclose(rules.variance_share.sum("part"), 1, atol=1e-6)


def test_at_most_six_rules_are_chosen(corpus: store.Corpus) -> None:
    chosen = corpus.rules.chosen
    assert chosen.sizes["place"] == 6
    assert set(chosen.values.ravel().tolist()) <= {*TEXT_RULES, "sink_score", "word_table"}


def test_the_score_follows_from_the_predicted_pattern(corpus: store.Corpus) -> None:
    biases = corpus.role_biases
    judged = biases.sentence.values[corpus.rules.attrs["fitted_sentences"] :]
    overlaps = []
    for sentence in judged.tolist():
        both = [pattern(sentence, layer=1, head=0).values for pattern in (corpus.predicted_pattern, corpus.pattern)]
        overlaps.append(np.minimum(*both).sum() / np.maximum(*both).sum())
    assert np.mean(overlaps) == pytest.approx(float(corpus.rules.iou.sel(rules="six", layer=1, head=0)), abs=1e-5)


def test_parts_sum_to_the_logit(corpus: store.Corpus) -> None:
    parts = corpus.logit_parts(2, layer=1, head=1)
    rows = corpus.sentence_rows(2)
    query, key = (vectors[1, 1, rows].values.astype(np.float32) for vectors in (corpus.query, corpus.key))
    assert parts.part.values.tolist() == list(PARTS)
    np.testing.assert_allclose(parts.sum("part"), query @ key.T / query.shape[-1] ** 0.5, atol=1e-4)


def test_every_head_is_named(corpus: store.Corpus) -> None:
    assert corpus.head_roles.dims == ("layer", "head")
    assert all("%" in name for name in corpus.head_roles.values.ravel())


def test_a_higher_threshold_leaves_fewer_discoveries(corpus: store.Corpus) -> None:
    found = [int(corpus.test_roles(threshold).found.sum()) for threshold in (0.5, 1.0, 4.0)]
    assert found == sorted(found, reverse=True)
    assert corpus.role_tests.attrs["threshold"] == 2
    assert "random_bias" not in corpus.role_tests


def test_only_grammar_is_tested_against_its_offset(corpus: store.Corpus) -> None:
    tests = corpus.role_tests
    assert tests.offset_bias.sel(role=tests.kind != "grammar").isnull().all()
    assert tests.offset_p.sel(role="noun_of_modifier").notnull().any()


def test_a_sound_store_is_found_sound_and_lists_the_stage(corpus: store.Corpus, roles_store: str) -> None:
    snapshot = store.open_snapshot(roles_store)
    assert not list(verify(snapshot, 2))
    assert "rules and roles" in store.describe.describe_model(snapshot, corpus.name).stages


def _share_of_one(group: zarr.Group) -> None:
    array_of(group, "share")[0, 0, 0] += 0.1


def _below_zero(group: zarr.Group) -> None:
    for role, change in enumerate((-2, 2)):
        array_of(group, "share")[role, 0, 0] += change


def _overlap(group: zarr.Group) -> None:
    array_of(group, "iou")[0, 0, 0] = 1.5


def _bias(group: zarr.Group) -> None:
    array_of(group, "bias")[0, 0, 0] = 7


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (_share_of_one, "the shares of the roles are not parts of a whole"),
        (_below_zero, "the shares of the roles are not parts of a whole"),
        (_overlap, "an overlap of rules with attention is not between 0 and 1"),
        (_bias, "the biases of roles in sentence"),
    ],
)
def test_numbers_that_contradict_the_attention_are_found(
    change: Callable[[zarr.Group], None], finding: str, corpus: store.Corpus, roles_store: str, tmp_path: Path
) -> None:
    place = shutil.copytree(roles_store, tmp_path / "store")
    with rewritten(place) as writer:
        change(writer.group(f"models/{corpus.name}/roles"))
    findings = list(verify(store.open_snapshot(str(place)), 2))
    assert len(findings) == 1
    assert finding in findings[0]


def test_roles_of_words_that_were_annotated_anew_are_not_shown(
    corpus: store.Corpus, roles_store: str, tmp_path: Path
) -> None:
    place = shutil.copytree(roles_store, tmp_path / "store")
    with rewritten(place) as writer:
        writer.group(f"{corpus._corpus_path}/words").attrs["identity"] = {"kind": "gold", "data": "another"}
    with pytest.raises(NotIngested, match=r"^Rules and roles of heads: not computed"):
        _ = store.open_corpus(str(place)).rules


def bare_sentence(*flags: int) -> SentenceTokens:
    tokens = len(flags)
    return SentenceTokens(
        np.arange(tokens), np.array(flags, np.uint8), np.zeros(tokens), np.full(tokens, -1), np.ones(tokens)
    )


@pytest.mark.parametrize(
    "sentences", [((CLS, SEP), (CLS, SEP)), ((CLS, 0, SEP), (CLS, SEP)), ((CLS, SEP), (CLS, 0, SEP)), ((0,), (0,))]
)
def test_sentences_without_words_leave_numbers_unknown_and_raise_nothing(
    sentences: tuple[tuple[int, ...], ...],
) -> None:
    tokens = [bare_sentence(*flags) for flags in sentences]
    bench = RuleBench(RuleSentences(np.array([0]), np.array([1]), 2), tokens, words=False, seed=0)
    vectors = [(np.ones((1, len(each), 4), np.float32), np.ones((1, len(each), 4), np.float32)) for each in tokens]
    sums = TableSums(np.arange(3), 3, 1, 4)
    for (query, key), each in zip(vectors, tokens, strict=True):
        sums.add(query, key, TokenRows(each.token_id, each.token_id, each.is_word, np.array([len(each)])))
    computed = bench.layer(vectors, sums.tables())
    total = computed["share"].sum(axis=0)
    assert np.isnan(total).all() or total == pytest.approx(1)
    assert np.isfinite(computed["iou"]).all()


def computed_of_a_head_that_attends_to_cls() -> dict[str, np.ndarray]:
    """Results of two heads: the first attends to [CLS] alone, as weights of words are below float32; the second attends evenly."""
    tokens = [bare_sentence(CLS, 0, 0, SEP)] * 2
    bench = RuleBench(RuleSentences(np.array([0]), np.array([1]), 2), tokens, words=False, seed=0)
    key = np.zeros((2, 4, 4), np.float32)
    key[0, 0] = 100
    sums = TableSums(np.arange(4), 4, 2, 4)
    for each in tokens:
        sums.add(np.ones_like(key), key, TokenRows(each.token_id, each.token_id, each.is_word, np.array([4])))
    return bench.layer([(np.ones_like(key), key)] * 2, sums.tables())


def test_all_attention_of_words_to_cls_is_the_share_of_cls() -> None:
    share = computed_of_a_head_that_attends_to_cls()["share"]
    assert share[:, 0].max() == share[roles_for(words=False).index("cls"), 0] == pytest.approx(1)
    np.testing.assert_allclose(share.sum(axis=0), 1)


def test_halves_without_attention_between_words_have_no_agreement() -> None:
    assert np.isnan(computed_of_a_head_that_attends_to_cls()["agreement"]).tolist() == [True, False]


def test_a_bias_beyond_float16_is_its_largest_number() -> None:
    """The first word attends to its governor, two words on; all other words attend to themselves."""
    none = np.full(4, ROOT)
    grammar = Grammar(
        np.arange(4), np.full(4, "NOUN"), np.array(["nsubj", "root", "root", "root"]), np.array([2, *none[1:]]), none
    )
    tokens = [replace(bare_sentence(0, 0, 0, 0), grammar=grammar)] * 2
    bench = RuleBench(RuleSentences(np.array([0]), np.array([1]), 2), tokens, words=True, seed=0)
    key = np.eye(4, dtype=np.float32)[None]
    query = 50 * key[:, [2, 1, 2, 3]]
    sums = TableSums(np.arange(4), 4, 1, 4)
    for each in tokens:
        sums.add(query, key, TokenRows(each.token_id, each.token_id, each.is_word, np.array([4])))
    bias = bench.layer([(query, key)] * 2, sums.tables())["offset_bias"]
    assert bias[0, :, bench.relation_names.index("governor")].tolist() == [65504, 65504]


def test_rules_without_tables_do_not_know_the_word_that_a_head_attends_to() -> None:
    """The head attends to one wordpiece, at any position."""
    generator, word, sentences = np.random.default_rng(0), 7, 8
    tokens = []
    for _ in range(sentences):
        ids = np.r_[0, generator.integers(2, word, 8), 1]
        ids[generator.integers(1, 9)] = word
        tokens.append(replace(bare_sentence(CLS, *[0] * 8, SEP), token_id=ids))
    bench = RuleBench(RuleSentences(np.arange(4), np.arange(4, 8), sentences), tokens, words=False, seed=0)
    query = np.ones((1, 10, 4), np.float32)
    vectors = [(query, query * np.where(each.token_id == word, 3, 0)[:, None].astype(np.float32)) for each in tokens]
    sums = TableSums(np.arange(word + 1), word + 1, 1, 4)
    for (queries, keys), each in zip(vectors, tokens, strict=True):
        sums.add(queries, keys, TokenRows(each.token_id, each.token_id, each.is_word, np.array([10])))
    overlap = dict(zip(RULE_SETS, bench.layer(vectors, sums.tables())["iou"][:, 0].tolist(), strict=True))
    assert overlap["six"] > 0.9 > 0.2 > overlap["without_tables"]


def test_results_can_be_saved(corpus: store.Corpus, tmp_path: Path) -> None:
    for number, result in enumerate((corpus.rules, corpus.roles, corpus.role_tests)):
        result.to_netcdf(tmp_path / f"{number}.nc")
        assert xr.open_dataset(tmp_path / f"{number}.nc").sizes == result.sizes


@pytest.mark.slow
def test_a_killed_stage_ends_as_if_it_had_not_been(
    ingest: Ingest, bank: Path, roles_store: str, read_arrays: ReadArrays, tmp_path: Path
) -> None:
    settings = {"data": bank, "annotate": "auto", "probes": "none", **RULES}
    interrupted(ingest, tmp_path / "store", (stage.RoleTask, "__call__"), after=1, **settings)
    place = ingest(tmp_path / "store", **settings)
    arrays, expected = read_arrays(place), read_arrays(roles_store)
    assert arrays.keys() == expected.keys()
    for path in expected:
        np.testing.assert_array_equal(arrays[path], expected[path], err_msg=path)


@pytest.mark.slow
def test_a_store_made_before_gets_roles_and_then_those_of_its_words(
    ingest: Ingest, bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store"
    ingest(place, data=bank)
    with pytest.raises(NotIngested, match=r"^Rules and roles of heads: not computed\. Run `headscape ingest`\.$"):
        _ = store.open_corpus(str(place)).roles
    ingest(place, data=bank, **RULES)
    without_words = store.open_corpus(str(place)).roles.role.values.tolist()
    assert "next" in without_words
    assert "governor" not in without_words
    random = {**RULES, "random_sentences": 4}
    ingest(place, data=bank, annotate="auto", **random)
    corpus = store.open_corpus(str(place))
    assert "governor" in corpus.roles.role.values.tolist()
    assert corpus.role_tests.random_bias.notnull().any()
    capsys.readouterr()
    monkeypatch.delattr(stage, "_make_task")
    ingest(place, data=bank, annotate="auto", **random)
    assert "Nothing to do" in capsys.readouterr().out
