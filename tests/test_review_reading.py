"""A review that a reader asks for: the same numbers as an ingest stores, searches in its words, and refusals."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import store
from dashboard.app import create_app
from dashboard.features import reading
from dashboard.features.data import FoundReview, FoundReviews
from dashboard.features.page import FEATURES
from dashboard.features.reading import BOUNDS, EMPTY, MISSING, UNKNOWN, UNREADABLE, Reading, Request
from dashboard.features.review_choice import read_review, seek_reviews
from dashboard.pages import picture_of
from dashboard.ui.apart import MARGIN, Apart, Watch
from dashboard.ui.work import Job
from dashboard.web.context import Context, resolve
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.token_sets import TokenSets
from ingest.text.reviews import BEFORE, SHOWN, excerpt
from store import Corpus
from tests.client import content, csv_rows

#: A review that the store has, so that both can be compared, and a review that it lacks.
STORED, OTHER = 3, 5


class InThisProcess:
    """A stand-in for the reading process: answers in this process, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(self, request: Request, watch: Watch) -> Any:
        self.requests.append(request)
        return reading._answer(request, watch)


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


@pytest.fixture
def asked(served_store: ServedStore) -> InThisProcess:
    asked = InThisProcess()
    served_store.put(Reading, Reading(served_store, asked))
    return asked


def read(served_store: ServedStore, search: str) -> Context:
    """The context of a link, once its review is read."""
    read_review(resolve(served_store, "features", search), Job())
    return resolve(served_store, "features", search)


def above(context: Context) -> str:
    return str(FEATURES.layout(context).above)


# -- a review that is read ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("asked")
def test_a_review_that_is_read_has_the_numbers_of_an_ingest(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    stored = tiny_corpus.features(f"review-{STORED}")
    answer = reading._answer(Request(served_store.url, tiny_corpus.snapshot, tiny_corpus.name, STORED), lambda *_: None)
    assert isinstance(answer, dict)
    token_sets = TokenSets(served_store.folder)
    own = token_sets.add(
        tiny_corpus, "review-0003", {key.replace("review-3", "review-0003"): answer[key] for key in answer}
    )
    assert own.tokens.equals(stored.tokens)
    assert own.views == stored.views
    for name in ("feature", "value", "similarity", "cka", "explained"):
        np.testing.assert_array_equal(getattr(own, name).values, getattr(stored, name).values)
    for view in stored.views:
        np.testing.assert_array_equal(own.view(view).coordinates.values, stored.view(view).coordinates.values)
        assert own.view(view).attrs["fitted_on"] == stored.view(view).attrs["fitted_on"]
    alike = {name: value for name, value in stored.attributes.items() if name not in ("features_hash", "views_before")}
    assert {name: own.attributes[name] for name in alike} == alike


def test_the_page_reads_it_once_and_then_shows_it(served_store: ServedStore, asked: InThisProcess) -> None:
    before = resolve(served_store, "features", f"review={OTHER}")
    assert picture_of(before) is None
    assert f"Review {OTHER} of " in above(before)
    assert "'deferred': 'reading'" in above(before)
    after = read(served_store, f"review={OTHER}")
    assert f"tokens of review {OTHER} at " in above(after)
    below = str(FEATURES.layout(after).below)
    assert f"headscape projections --reviews={OTHER}" in below
    assert "PCA" in below
    assert picture_of(after) is not None
    read(served_store, f"review={OTHER}&fcolour=position")
    assert [request.number for request in asked.requests] == [OTHER]


@pytest.mark.usefixtures("asked")
def test_the_canvas_and_files_have_its_tokens(served_store: ServedStore) -> None:
    context = read(served_store, f"review={OTHER}")
    shown, client = picture_of(context), create_app(served_store).server.test_client()
    assert shown is not None
    for url in (shown.points, shown.raster, shown.colours):
        assert content(client, str(url))
    features = served_store.service(TokenSets).open(context.corpus, f"review-{OTHER}")
    file = f"{data_link(context.corpus)}/features/review-{OTHER}/tokens/points/pca-joint/embedding.csv"
    assert [row["wordpiece"] for row in csv_rows(content(client, file))] == features.wordpieces()


@pytest.mark.usefixtures("asked")
def test_another_process_of_the_server_finds_it(served_store: ServedStore, tiny_store: str) -> None:
    read(served_store, f"review={OTHER}")
    worker = ServedStore(tiny_store, served_store.folder)
    assert picture_of(resolve(worker, "features", f"review={OTHER}")) is not None


@pytest.mark.usefixtures("asked")
def test_a_picture_that_only_the_sample_has_takes_no_notice(served_store: ServedStore) -> None:
    links = [f"review={OTHER}&ftoken=2&point=L00.mixed", f"review={OTHER}&fview=pca-each"]
    assert [resolve(served_store, "features", link).notices for link in links] == [(), ()]
    assert read(served_store, links[1]).notices == ()


def test_a_review_of_the_store_is_not_read_again(served_store: ServedStore, asked: InThisProcess) -> None:
    context = resolve(served_store, "features", f"review={STORED}")
    assert f"tokens of review {STORED} at " in above(context)
    assert asked.requests == []


def test_a_url_of_a_review_that_is_gone_says_what_to_do(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    client = create_app(served_store).server.test_client()
    answer = client.get(f"{data_link(tiny_corpus)}/features/review-77/tokens.json")
    assert (answer.status_code, answer.text) == (
        404,
        "The server does not have review 77 now. Open it on page Features.",
    )


# -- searches ----------------------------------------------------------------------------------------------------


def test_reviews_are_found_by_words_that_all_occur(served_store: ServedStore, asked: InThisProcess) -> None:
    link = "seek=FILM wonderful"
    assert "'deferred': 'seeking'" in above(resolve(served_store, "features", link))
    seek_reviews(resolve(served_store, "features", link), Job())
    context = resolve(served_store, "features", link)
    found = served_store.service(Reading).found(context.corpus, "FILM wonderful")
    assert found is not None
    reviews = reading._opened(served_store.url, context.corpus.snapshot, context.corpus.name)[1]
    texts = [reviews[number].text.lower() for number in range(len(reviews))]
    numbers = [number for number, text in enumerate(texts) if "film" in text and "wonderful" in text]
    assert (found.count, found.among) == (len(numbers), len(texts))
    assert [review.number for review in found.first] == numbers[: reading.LISTED]
    assert len(asked.requests) == 1


def test_a_found_review_is_a_link_that_keeps_the_search(served_store: ServedStore) -> None:
    found = FoundReviews(2, 60, (FoundReview(5, "positive", "a fine film"), FoundReview(9, "negative", "no film")))
    asked = Reading(served_store, lambda *_: found)
    served_store.put(Reading, asked)
    context = resolve(served_store, "features", "seek=film&material=review-3&ftoken=2")
    asked.seek(context.corpus, "film", Job())
    page = above(context)
    assert "2 of 60 reviews have “film”." in page
    assert "/features?review=5&seek=film" in page


def test_a_search_without_a_result_says_what_to_do(served_store: ServedStore) -> None:
    asked = Reading(served_store, lambda *_: FoundReviews(0, 60, ()))
    served_store.put(Reading, asked)
    context = resolve(served_store, "features", "seek=xyzzy fine")
    asked.seek(context.corpus, "xyzzy fine", Job())
    assert "has “xyzzy” and “fine”. Type other words, or the number of a review." in above(context)


def test_an_excerpt_begins_a_little_before_the_word_and_has_no_breaks() -> None:
    assert excerpt("A film.<br /><br />It was good.", ["film"]) == "A film. It was good."
    assert excerpt(f"{'word ' * 20}the film {'word ' * 40}", ["film"]).startswith(f"… {'word ' * 8}the film word ")


def test_an_excerpt_of_text_without_spaces_shows_the_word() -> None:
    text = "\u9019\u90e8\u96fb\u5f71" * 100 + "\u6f14\u54e1\u51fa\u8272" + "\u597d\u770b" * 100
    assert excerpt(text, ["\u51fa\u8272"]) == f"… {text[402 - BEFORE : 402 - BEFORE + SHOWN]} …"
    assert excerpt(text[390:], ["\u51fa\u8272"]) == f"{text[390 : 390 + SHOWN]} …"


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("number", "sentence"), [(99_999, UNKNOWN.format(59)), (0, EMPTY.format(0))])
def test_a_review_that_there_is_not_or_is_empty_is_a_sentence(
    served_store: ServedStore, number: int, sentence: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        read(served_store, f"review={number}")
    assert str(refusal.value) == sentence


def test_data_that_has_gone_or_is_other_data_is_a_sentence(
    ingest: Callable[..., str], tiny_data: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copy(tiny_data, tmp_path / tiny_data.name))
    place = ingest(tmp_path / "store", data=data, sentences=5, features="pca-joint", reviews="none")
    corpus = store.open_corpus(place)
    request = Request(place, corpus.snapshot, corpus.name, OTHER)
    whole = data.read_text("utf-8")
    for change in (lambda: data.write_text(whole.replace("film", "movie")), data.unlink):
        change()
        reading._opened.cache_clear()
        with pytest.raises(Refusal) as refusal:
            reading._answer(request, lambda *_: None)
        assert str(refusal.value) == UNREADABLE


def test_a_server_without_torch_offers_the_reviews_of_the_store(served_store: ServedStore) -> None:
    served_store.put(Reading, Reading(served_store, can_read=lambda: False))
    assert MISSING in above(resolve(served_store, "features", f"review={OTHER}"))
    assert "Read any review" not in above(resolve(served_store, "features", ""))
    with pytest.raises(Refusal, match="needs PyTorch"):
        read(served_store, f"review={OTHER}")


def test_a_long_review_says_that_its_end_is_missing(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    request = Request(served_store.url, tiny_corpus.snapshot, tiny_corpus.name, OTHER)
    arrays = dict(reading._answer(request, lambda *_: None))  # type: ignore[arg-type]
    (key,) = (key for key in arrays if key.endswith(f"review-{OTHER}/zarr.json"))
    known = json.loads(arrays[key].tobytes())
    known["attributes"]["cut"] = True
    arrays[key] = np.frombuffer(json.dumps(known).encode(), np.uint8)
    features = served_store.service(TokenSets).add(tiny_corpus, f"review-{OTHER}", arrays)
    below = str(FEATURES.layout(resolve(served_store, "features", f"review={OTHER}")).below)
    assert f"The review is longer: its text after {features.n_tokens} tokens is left out. Choose a shorter one" in below


# -- the process ----------------------------------------------------------------------------------------


def readers() -> list[psutil.Process]:
    """The processes that this process has started to read reviews."""
    own = psutil.Process().children(recursive=True)
    return [process for process in own if "dashboard.features.reading" in " ".join(process.cmdline())]


@pytest.mark.slow
def test_one_process_reads_one_review_after_the_other_and_ends_when_it_is_cancelled(tiny_store: str) -> None:
    served_store = ServedStore(tiny_store)
    corpus, real = resolve(served_store, "features", "").corpus, served_store.service(Reading)
    first = real.read(corpus, OTHER, Job())
    assert first.n_tokens == len(first.wordpieces())
    (process,) = readers()
    assert real.seek(corpus, "film", Job()).among == 60
    assert readers() == [process]
    with pytest.raises(Refusal, match="There is no such review: the data has reviews 0 to 59"):
        real.read(corpus, 99_999, Job())
    assert readers() == [process]
    with pytest.raises(ReaderLeft):
        real.read(corpus, OTHER + 1, Left())
    assert readers() == []


@pytest.mark.slow
def test_a_process_that_is_about_to_end_is_not_asked(tiny_store: str) -> None:
    served_store = ServedStore(tiny_store)
    corpus = resolve(served_store, "features", "").corpus
    apart = Apart("dashboard.features.reading", replace(BOUNDS, idle=int(MARGIN)))
    real = Reading(served_store, apart.ask)
    assert real.seek(corpus, "film", Job()).among == 60
    (ending,) = readers()
    assert real.seek(corpus, "music", Job()).among == 60
    (process,) = readers()
    assert process != ending
    apart.end()


class Left(Job):
    """A job whose reader has left."""

    def watch(self, share: float, stage: str | None = None) -> None:  # noqa: ARG002
        raise ReaderLeft
