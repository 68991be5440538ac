"""`ingest.heads.importance`: the sentences of the task, their hidden wordpieces and the expected answers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.encode.sample import take_sentences
from ingest.heads.importance import (
    NO_ANSWER,
    held_out,
    hidden_tokens,
    label_outputs,
    label_task,
    masked_task,
    next_task,
)
from ingest.run.errors import IngestError
from ingest.text.blocks import Block, PlannedCorpus, plan
from store.schema.corpus import CLS, SEP

MASK_ID = 103


def make_sentences(lengths: list[int]) -> Block:
    """A block of sentences: [CLS], wordpieces with different ids, [SEP]."""
    sizes = np.array(lengths, np.int32)
    ids, flags = np.arange(1000, 1000 + sizes.sum()).astype(np.int32), np.zeros(sizes.sum(), np.uint8)
    stop = np.cumsum(sizes)
    flags[stop - sizes], flags[stop - 1] = CLS, SEP
    return Block(0, len(ids), sizes, ids, flags)


LENGTHS = st.lists(st.integers(3, 40), min_size=1, max_size=12)


@given(LENGTHS, st.integers(-(1 << 63), (1 << 63) - 1))
def test_of_every_sentence_fifteen_per_cent_of_the_wordpieces_are_hidden(lengths: list[int], seed: int) -> None:
    sentences = make_sentences(lengths)
    hidden = np.add.reduceat(hidden_tokens(sentences, seed=seed), np.cumsum(lengths) - lengths, dtype=int)
    np.testing.assert_array_equal(hidden, [max(1, round(0.15 * (length - 2))) for length in lengths])


@given(LENGTHS)
def test_neither_cls_nor_sep_is_hidden(lengths: list[int]) -> None:
    sentences = make_sentences(lengths)
    assert not (sentences.token_flags[hidden_tokens(sentences, seed=0)] & (CLS | SEP)).any()


def test_more_sentences_leave_what_is_hidden_of_the_first() -> None:
    few, many = make_sentences([9, 20]), make_sentences([9, 20, 30])
    np.testing.assert_array_equal(hidden_tokens(many, seed=1)[:29], hidden_tokens(few, seed=1))


def test_another_seed_hides_others() -> None:
    sentences = make_sentences([40])
    assert (hidden_tokens(sentences, seed=1) != hidden_tokens(sentences, seed=2)).any()


def test_a_hidden_wordpiece_is_the_answer_and_its_token_is_masked() -> None:
    sentences = make_sentences([9, 20])
    task = masked_task(sentences, mask_id=MASK_ID, seed=0)
    is_answer = task.answer != NO_ANSWER
    assert (task.block.token_ids[is_answer] == MASK_ID).all()
    np.testing.assert_array_equal(task.answer[is_answer], sentences.token_ids[is_answer])
    np.testing.assert_array_equal(task.block.token_ids[~is_answer], sentences.token_ids[~is_answer])


def test_a_label_is_asked_of_cls() -> None:
    task = label_task(make_sentences([3, 4]), np.array([1, 0]))
    assert task.answer.tolist() == [1, -1, -1, 0, -1, -1, -1]


def test_answers_follow_their_sentences_into_the_batches() -> None:
    task = masked_task(make_sentences([20, 4, 9]), mask_id=MASK_ID, seed=0)
    answers_by_length = {
        int(batch.token_ids[row, 0]): answers[row]
        for batch, answers in task.batches(tokens=25)
        for row in range(len(answers))
    }
    np.testing.assert_array_equal(answers_by_length[1020][:4], task.answer[20:24])
    assert sum(int((answers != NO_ANSWER).sum()) for answers in answers_by_length.values()) == task.answers


@pytest.mark.parametrize(
    ("after", "count", "expected"),
    [(4, 3, [4, 5, 6]), (4, 6, [4, 5, 6, 7, 8, 9]), (6, 6, [4, 5, 6, 7, 8, 9]), (0, 99, list(range(10)))],
    ids=["after the fit", "to the end", "the last", "all there are"],
)
def test_sentences_are_those_that_no_fit_has_seen_where_there_are_enough(
    after: int, count: int, expected: list[int]
) -> None:
    assert held_out(np.arange(10), after=after, count=count).tolist() == expected


def test_sentences_without_a_label_are_passed_over() -> None:
    assert held_out(np.array([1, 5, 6, 9]), after=3, count=2).tolist() == [5, 6]


def test_taken_sentences_are_whole_across_blocks() -> None:
    whole = make_sentences([5, 6, 4, 7])
    corpus = PlannedCorpus("some", plan(whole.lengths, whole.token_ids, whole.token_flags, length=12))
    taken = take_sentences(corpus, np.array([1, 3]))
    assert len(corpus.blocks) > 1
    np.testing.assert_array_equal(taken.token_ids, np.r_[whole.token_ids[5:11], whole.token_ids[15:22]])
    np.testing.assert_array_equal(taken.lengths, [6, 7])


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({"0": "NEGATIVE", "1": "POSITIVE"}, [0, 1]),
        ({"0": "positive", "1": "negative"}, [1, 0]),
        ({"0": "LABEL_0", "1": "LABEL_1"}, [0, 1]),
        ({"0": "0", "1": "1"}, [0, 1]),
        (None, [0, 1]),
    ],
)
def test_labels_are_found_by_name_or_else_by_number(outputs: Any, expected: list[int]) -> None:
    config = {} if outputs is None else {"id2label": outputs}
    assert label_outputs(config, ["negative", "positive"]).tolist() == expected


def test_a_classifier_of_other_labels_is_refused() -> None:
    config = {"id2label": {str(stars): f"{stars} stars" for stars in range(5)}}
    with pytest.raises(IngestError, match=r"knows 5 labels .* leave --importance out\.$"):
        label_outputs(config, ["negative", "positive"])


def test_names_that_are_not_those_of_the_data_are_no_numbers() -> None:
    config = {"id2label": {"0": "toxic", "1": "harmless"}}
    with pytest.raises(IngestError, match=r"knows 2 labels \(toxic, harmless\), .* leave --importance out\.$"):
        label_outputs(config, ["negative", "positive"])


def test_a_classifier_needs_labels() -> None:
    with pytest.raises(IngestError, match=r"has no labels\. Name their column with --label="):
        label_outputs({}, [])


def test_the_next_wordpiece_is_asked_of_every_token_but_before_a_special_token_and_at_the_end() -> None:
    task = next_task(make_sentences([5, 3]))
    none = NO_ANSWER
    np.testing.assert_array_equal(task.answer, [1001, 1002, 1003, none, none, 1006, none, none])
    assert (task.kind, task.answers) == ("next", 4)


def test_texts_of_one_token_have_no_next_wordpiece() -> None:
    with pytest.raises(IngestError, match=r"No sentence has two tokens.*Leave --importance out\."):
        next_task(make_sentences([1, 1]))
