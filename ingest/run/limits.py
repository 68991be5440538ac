"""Sizes and times that an ingest works with. No flag sets them: they are those that every store is made with."""

from dataclasses import dataclass

import numpy as np

from store.schema import BLOCK


@dataclass(frozen=True)
class Limits:
    """The limits of an ingest; tests hand in smaller ones.

    Attributes
    ----------
    block
        Rows of the token axis that a block has.
    part_characters
        Characters of the reviews that a process splits at a time. Fewer than two parts are split in the process of the ingest.
    fit_tokens
        Normalisations and pictures are fitted on the first whole sentences within so many tokens, a uniform sample of the corpus.
    judged_sentences
        How many sentences judge a fit.
    head_tokens
        No picture of heads that looks for neighbours is fitted on more tokens.
    attention_steps
        Of the training of a picture of heads on attention. A thousand took longer, and no measure of a picture differed by more
        than 0.005.
    few_tokens
        So few tokens are all fitted, in pictures of feature points and of values.
    largest_feature
        Numbers of feature points beyond it are clipped: the largest of float16.
    random_tokens
        The model with random weights is run on the first blocks that hold so many tokens together.
    answer_seconds, first_worker_seconds
        In which a scheduler must answer, and in which one worker at least must have come.
    worker_deaths
        Workers that may die of one task while no task ends at all: with more, the task itself kills them. With workers that are
        killed every few seconds, whatever they do, a long task may need nearly as many until one lives long enough.
    """

    block: int = BLOCK
    part_characters: int = 1 << 21
    fit_tokens: int = 20_000
    judged_sentences: int = 100
    head_tokens: int = 500
    attention_steps: int = 700
    few_tokens: int = 512
    largest_feature: float = float(np.finfo(np.float16).max)
    random_tokens: int = 20_000
    answer_seconds: float = 10
    first_worker_seconds: float = 30
    worker_deaths: int = 20


#: The limits of every ingest that a command runs.
USUAL = Limits()
