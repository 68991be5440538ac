"""How often heads link the words of relations, against counts one by one."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import store
from ingest.words import relations as stage
from ingest.words.relations import randomize
from store.kernels.intervals import PERCENTILES, REPLICATES
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, halves, linked
from store.repository.errors import NotIngested
from store.repository.writer import open_writer
from store.results import best_heads
from tests.family_models import save_family
from tests.published.reference import ReferenceSentence, link_counts
from tests.stores import BLOCK
from tests.treebanks import write_treebank

Ingest = Callable[..., str]


def one_pair(source: int, target: int) -> WordPairs:
    rows = [np.array([row]) for row in (source, target)]
    return WordPairs(*rows, *(row.astype(np.int16) for row in rows), np.array([0]))


def directions(most_attended: list[int], most_attending: list[int], source: int, target: int) -> set[str]:
    strongest = StrongestWords(np.array(most_attended, np.int16), np.array(most_attending, np.int16))
    hits = linked(strongest, one_pair(source, target))[:, 0]
    return {direction for direction, hit in zip(DIRECTIONS, hits, strict=True) if hit}


def test_a_pair_is_linked_forward_where_its_first_word_attends_most_to_its_second() -> None:
    assert directions([1, 2, 1], [2, 2, 1], 0, 1) == {"forward"}


def test_a_pair_is_linked_backward_where_its_second_word_attends_most_to_its_first() -> None:
    assert directions([2, 0, 1], [2, 2, 1], 0, 1) == {"backward"}


def test_a_pair_is_linked_as_received_where_its_second_word_attends_most_to_its_first_of_all_words() -> None:
    assert directions([2, 2, 1], [1, 2, 0], 0, 1) == {"received"}


def by_hand(corpus: store.Corpus, label: str, half: int) -> tuple[int, np.ndarray]:
    """Pairs of a label in a half, and linked pairs of each head (direction, layer, head), from patterns of sentences."""
    count, links = link_counts([stored(corpus, number) for number in range(half, corpus.n_sentences, 2)])
    return count[label], links[label]


def stored(corpus: store.Corpus, number: int) -> ReferenceSentence:
    """A sentence of the store in the form of the reference."""
    table, names = corpus.words.table.isel(word=corpus.words.rows(number)), corpus.words.names("relation")
    labels = [names[code] for code in table.relation.values]
    return ReferenceSentence(corpus.word_pattern(number).values, table.governor.values.tolist(), labels)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("label", ["det", "nsubj", "obj"])
def test_links_are_those_counted_sentence_by_sentence(label: str, half: int, bank_corpus: store.Corpus) -> None:
    count, hits = by_hand(bank_corpus, label, half)
    cell = bank_corpus.relations.sel(relation=label).isel(half=half)
    assert int(cell.pairs) == count > 0
    np.testing.assert_array_equal(cell.linked.transpose("direction", "layer", "head"), hits)


def test_all_counts_every_label_that_joins_words(bank_corpus: store.Corpus) -> None:
    relations = bank_corpus.relations
    labels = relations.sel(relation=[name for name in relations.relation.values if name != "all"])
    np.testing.assert_array_equal(relations.linked.sel(relation="all"), labels.linked.sum("relation"))


def test_the_offset_is_the_most_frequent_of_the_first_half(bank_corpus: store.Corpus) -> None:
    pairs = bank_corpus.words.relations["det"]
    offsets = pairs.target_word.astype(int) - pairs.source_word
    reported = halves(bank_corpus.n_sentences)[pairs.sentence]
    [(offset, _)] = Counter(offsets[~reported].tolist()).most_common(1)
    det = bank_corpus.relations.sel(relation="det")
    assert int(det.offset) == offset
    assert float(det.offset_accuracy) == pytest.approx((offsets[reported] == offset).mean())


def test_the_best_head_is_chosen_on_one_half_and_reported_on_the_other(bank_corpus: store.Corpus) -> None:
    best = best_heads(bank_corpus.relations).sel(relation="det")
    accuracies = [
        {cell: hits[cell] / count for cell in np.ndindex(hits.shape)}
        for count, hits in (by_hand(bank_corpus, "det", half) for half in (0, 1))
    ]
    chosen = max(accuracies[0], key=lambda cell: accuracies[0][cell])
    assert (list(DIRECTIONS).index(str(best.direction.values)), int(best["layer"]), int(best["head"])) == chosen
    assert float(best.accuracy) == pytest.approx(accuracies[1][chosen])
    assert int(best.pairs) == by_hand(bank_corpus, "det", 1)[0]


def test_an_accuracy_lies_in_its_interval(bank_corpus: store.Corpus) -> None:
    accuracy, (low, high) = bank_corpus.relations.reported_accuracy, bank_corpus.relations.interval
    assert bool(((low <= accuracy + 1e-12) & (accuracy <= high + 1e-12)).mean() > 0.99)


def test_intervals_are_those_of_resampled_sentences(bank_corpus: store.Corpus) -> None:
    cell = {"relation": "det", "direction": "forward", "layer": 1, "head": 1}
    pairs = bank_corpus.words.relations["det"]
    pairs = pairs.only(halves(bank_corpus.n_sentences)[pairs.sentence])
    hits = linked(StrongestWords(*(array.values for array in bank_corpus.strongest_words.values())), pairs)[0, 1, 1]
    random = np.random.default_rng(1)
    drawn = []
    for _ in range(10 * REPLICATES):
        count = random.multinomial(
            bank_corpus.n_sentences, np.full(bank_corpus.n_sentences, 1 / bank_corpus.n_sentences)
        )
        drawn.append((hits * count[pairs.sentence]).sum() / count[pairs.sentence].sum())
    np.testing.assert_allclose(bank_corpus.relations.interval.sel(cell), np.percentile(drawn, PERCENTILES), atol=0.04)


def test_random_weights_keep_the_embeddings(tiny_model: str) -> None:
    import transformers

    model, before = (transformers.BertModel.from_pretrained(tiny_model, add_pooling_layer=False) for _ in range(2))
    randomize(model.encoder, 0.02, seed=0)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before.state_dict()[name])}
    assert changed == {name for name in model.state_dict() if name.startswith("encoder.")}
    assert float(model.encoder.layer[0].attention.self.query.weight.detach().std()) == pytest.approx(0.02, rel=0.2)


def test_random_weights_are_those_of_every_class_of_linear_layer(tmp_path: Path) -> None:
    import transformers

    place = save_family(tmp_path / "model", "gpt2")
    model, before = (transformers.GPT2Model.from_pretrained(place) for _ in range(2))
    randomize(model.h, 0.02, seed=0)
    kept = {name for name, value in model.state_dict().items() if torch.equal(value, before.state_dict()[name])}
    assert kept == {"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"}
    assert float(model.h[0].attn.c_attn.weight.detach().std()) == pytest.approx(0.02, rel=0.2)


def test_random_weights_have_counts_of_their_own(bank_corpus: store.Corpus) -> None:
    relations = bank_corpus.relations
    assert (relations.random_pairs == relations.pairs).all()  # all sentences, as the corpus is small
    assert (relations.random_linked != relations.linked).any()


@pytest.fixture
def relations_of(ingest: Ingest, tmp_path: Path) -> Callable[[str, int], xr.Dataset]:
    """A function that ingests some sentences of a treebank and gives the relations; random weights see only the first block."""
    bank = write_treebank(tmp_path / "bank.conllu")

    def relations_of(name: str, sentences: int) -> xr.Dataset:
        settings = {"data": bank, "annotate": "auto", "probes": "none"}
        place = ingest(tmp_path / name, sentences=sentences, random_tokens=BLOCK, **settings)
        return store.open_corpus(place).relations

    return relations_of


@pytest.mark.slow
@pytest.mark.heavy
def test_random_weights_are_run_once_where_a_corpus_grows_behind_their_blocks(
    relations_of: Callable[[str, int], xr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    once = relations_of("once", 60)
    relations_of("grown", 40)
    monkeypatch.delattr(stage, "_random_linked")
    grown = relations_of("grown", 60)
    assert int(grown.random_pairs.sum()) < int(grown.pairs.sum())
    xr.testing.assert_identical(grown[["random_linked", "random_pairs"]], once[["random_linked", "random_pairs"]])


@pytest.mark.slow
@pytest.mark.heavy
def test_random_weights_are_counted_on_a_relation_that_growth_brings(
    relations_of: Callable[[str, int], xr.Dataset],
) -> None:
    before, grown = relations_of("grown", 15), relations_of("grown", 60)
    added = sorted({*grown.relation.values} - {*before.relation.values})
    assert "nsubj" in added
    assert (grown.random_pairs.sel(relation=added).sum("half") > 0).all()


def test_an_ingest_that_has_relations_finds_nothing_to_do(
    bank_store: str, ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    data = store.open_corpus(bank_store).attributes["provenance"]["data"]["place"]
    ingest(bank_store, data=data, annotate="auto")
    assert "Nothing to do" in capsys.readouterr().out


@given(sentences=st.integers(0, 50))
def test_halves_share_all_sentences(sentences: int) -> None:
    assert abs(2 * int(halves(sentences).sum()) - sentences) <= 1


@pytest.mark.heavy
def test_words_that_were_annotated_anew_leave_no_relations_of_the_words_before(bank_store: str, tmp_path: Path) -> None:
    place = str(shutil.copytree(bank_store, tmp_path / "store"))
    with open_writer(place) as writer:
        key = store.open_corpus(place).attributes["corpus"]
        writer.group(f"corpus/{key}/words").attrs["identity"] = {
            "kind": "silver",
            "pipeline": {"package": "p", "version": "1"},
        }
        writer.publish("annotated anew, for another model")
    corpus = store.open_corpus(place)
    assert corpus.words.source == "silver annotation by p 1"
    for read in (lambda: corpus.relations, lambda: corpus.strongest_words, lambda: corpus.uas):
        with pytest.raises(NotIngested, match="not computed"):
            read()
