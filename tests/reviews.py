"""Short reviews of random words, as files of a data set."""

import csv
import random
from functools import partial
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.tiny_models import WORDS


def write_reviews(path: Path, *, reviews: int = 60, seed: int = 0, genres: bool = False) -> Path:
    """Write short reviews with breaks, duplicates, an empty review and unknown words; with a column of genres, if asked."""
    choose = random.Random(seed)
    rows = [("", "positive"), ("The film was good.", "positive"), ("The film was good.", "negative")]
    while len(rows) < reviews:
        sentences = [_sentence(choose) for _ in range(choose.randint(1, 4))]
        rows.append((choose.choice([" ", "<br /><br />"]).join(sentences), choose.choice(["negative", "positive"])))
    table = [("text", "label"), *rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_with_genres(table) if genres else table)
    return path


def _with_genres(table: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    genres = ["genre", *("war", "art", "") * len(table)]
    return [(*row, genre) for row, genre in zip(table, genres, strict=False)]


def _sentence(choose: random.Random) -> str:
    words = [choose.choice([word for word in WORDS if word.isalpha()]) for _ in range(choose.randint(2, 9))]
    return " ".join([*words, choose.choice(["zany", "very", "odd"])]).capitalize() + choose.choice(".!?")


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "reviews.csv", write_reviews)


@pytest.fixture(scope="session")
def genre_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of reviews with a column of genres beside text and label."""
    return made_once(tmp_path_factory, "genres.csv", partial(write_reviews, genres=True))
