"""A trial of UMAP: its parameters in a link, its picture beside those of the store, one fit at a time."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from time import sleep
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.features import trials as trials_of_server
from dashboard.features.page import FEATURES, TRYING, UNFITTED, tried
from dashboard.features.trial import Trial
from dashboard.features.trials import BUSY, MISSING, Trials
from dashboard.pages import picture_of
from dashboard.ui.work import Job, Jobs, new_name
from dashboard.web.context import Context, resolve
from dashboard.web.errors import NotYet, Refusal
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import MIN_DIST, MOST_NEIGHBORS, NEIGHBORS
from dashboard.web.token_sets import TokenSets
from ingest.run.settings import MOST_NEIGHBORS as MOST_OF_INGEST
from ingest.run.settings import Settings
from store import Corpus
from store.features import Features
from tests.client import content
from tests.trials import FakeFit, picture_by_lot, with_fake_fit

TRY = "trial=60&fit=joint&neighbors=5"
SHOWN = f"{TRY}&fview=trial"


@pytest.fixture
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


@pytest.fixture
def fit(served_store: ServedStore) -> FakeFit:
    return with_fake_fit(served_store)


@pytest.fixture
def features(tiny_corpus: Corpus) -> Features:
    return tiny_corpus.features("sample")


@pytest.fixture
def fitted(served_store: ServedStore, fit: FakeFit) -> Context:
    """The context of the link of a fitted trial."""
    tried(resolve(served_store, "features", TRY), Job())
    assert fit.requests
    return resolve(served_store, "features", SHOWN)


def of(served_store: ServedStore, search: str) -> Trial:
    context = resolve(served_store, "features", search)
    return Trial.of(context.state, context.corpus, context.corpus.features("sample"))


# -- parameters -----------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_an_ingest(served_store: ServedStore) -> None:
    settings = Settings()
    trial = of(served_store, "")
    assert (trial.neighbors, trial.min_dist, trial.metric) == (settings.neighbors, settings.min_dist, settings.metric)
    assert (settings.neighbors, settings.min_dist, MOST_OF_INGEST) == (NEIGHBORS, MIN_DIST, MOST_NEIGHBORS)


def test_a_trial_is_fitted_on_the_large_panel_or_on_the_output_of_the_last_layer(served_store: ServedStore) -> None:
    fits = [of(served_store, search).fitted for search in ("", "point=L00.mixed", "point=L00.mixed&fit=joint")]
    assert fits == ["L01.feedforward", "L00.mixed", "joint"]


def test_a_trial_has_at_most_the_tokens_of_the_sample(served_store: ServedStore, features: Features) -> None:
    assert of(served_store, "trial=2000").tokens == features.n_tokens


@pytest.mark.parametrize(
    ("search", "notice"),
    [
        ("neighbors=500", "neighbors=500 is out of range (2-200); showing 200"),
        ("trial=1", "trial=1 is out of range (10-2,000); showing 10"),
        ("mindist=2", "mindist=2 is not a number from 0 to 1; showing 0.1"),
        ("metric=hamming", "Ignored an invalid parameter: metric=hamming"),
        ("fit=L77.mixed", "Ignored an invalid parameter: fit=L77.mixed"),
        ("seed=4294967296", "seed=4294967296 is out of range (0-4,294,967,295); showing 4,294,967,295"),
    ],
)
def test_a_value_out_of_bounds_is_changed_with_a_notice(served_store: ServedStore, search: str, notice: str) -> None:
    assert resolve(served_store, "features", search).notices == (notice,)


def test_a_name_is_that_of_its_trial(served_store: ServedStore, features: Features) -> None:
    trial = of(served_store, f"{TRY}&mindist=0.000001&metric=cosine")
    assert str(trial) == "trial-5-0.000001-cosine-60-joint"
    assert Trial.parse(str(trial), features) == trial
    other = replace(trial, seed=7)
    assert str(other) == "trial-5-0.000001-cosine-60-joint-7"
    assert Trial.parse(str(other), features) == other


@pytest.mark.parametrize(
    "name",
    [
        "pca-joint",
        "trial",
        "trial-1-0.1-euclidean-60-joint",
        "trial-201-0.1-euclidean-60-joint",
        "trial-5-1.1-euclidean-60-joint",
        "trial-5-0.1-hamming-60-joint",
        "trial-5-0.1-euclidean-0-joint",
        "trial-5-0.1-euclidean-9999-joint",
        "trial-5-0.1-euclidean-60-L77.mixed",
        "trial-5-0.1-euclidean-60-../joint",
        "trial-5-0.1-euclidean-60-joint-4294967296",
    ],
)
def test_no_other_name_is_one(name: str, features: Features) -> None:
    assert Trial.parse(name, features) is None


# -- the page -------------------------------------------------------------------------------------------


def test_a_link_does_not_run_a_trial(served_store: ServedStore, fit: FakeFit) -> None:
    context = resolve(served_store, "features", SHOWN)
    above = str(FEATURES.layout(context).above)
    assert UNFITTED in above
    assert "PCA" in str(FEATURES.layout(context).below)
    assert context.state.fview == "trial"
    assert fit.requests == []


@pytest.mark.usefixtures("fitted")
def test_a_trial_is_fitted_with_the_parameters_of_the_link(fit: FakeFit) -> None:
    (request,) = fit.requests
    assert request.trial == Trial(5, 0.1, "euclidean", 60, "joint")
    assert (request.token_set, request.seed) == ("sample", 0)


def test_the_page_says_what_a_trial_is_and_how_to_make_it_permanent(fitted: Context) -> None:
    below = str(FEATURES.layout(fitted).below)
    assert "A trial, not in the store." in below
    assert "the first 60 of" in below
    command = "headscape projections --views=pca-exact-2d --features=umap-joint --neighbors=5 --min-dist=0.1"
    assert f"{command} --metric=euclidean --reviews=none" in below
    assert "Trial: UMAP of all places together" in str(FEATURES.layout(fitted).above)


@pytest.mark.usefixtures("fit")
def test_the_caption_of_a_trial_on_one_place_names_the_place_once(served_store: ServedStore) -> None:
    search = "trial=60&fit=L00.mixed&neighbors=5"
    tried(resolve(served_store, "features", search), Job())
    below = str(FEATURES.layout(resolve(served_store, "features", f"{search}&fview=trial")).below)
    assert "UMAP fitted on L0 head outputs, a few tokens." in below


def test_other_parameters_show_the_picture_of_the_store(fitted: Context) -> None:
    other = resolve(fitted.served_store, "features", f"{SHOWN}&metric=cosine")
    assert "A trial" not in str(FEATURES.layout(other).below)


def test_another_reader_finds_the_trial(fitted: Context, fit: FakeFit, tiny_store: str) -> None:
    worker = ServedStore(tiny_store, fitted.served_store.folder)
    tried(resolve(worker, "features", TRY), Job())
    assert len(fit.requests) == 1
    assert picture_of(resolve(worker, "features", SHOWN)) == picture_of(fitted)


def test_values_of_heads_have_no_trial(served_store: ServedStore) -> None:
    assert "Try UMAP" not in str(FEATURES.layout(resolve(served_store, "features", "vectors=1")).above)


def test_a_server_without_umap_says_so_in_one_sentence(served_store: ServedStore) -> None:
    with_fake_fit(served_store, needed=("umap", "no_such_package"))
    assert MISSING in str(FEATURES.layout(resolve(served_store, "features", "")).above)
    with pytest.raises(Refusal, match="Install the extra `ingest`"):
        tried(resolve(served_store, "features", TRY), Job())


def test_a_seed_of_the_link_is_that_of_the_fit_and_says_that_no_store_keeps_it(
    served_store: ServedStore, fit: FakeFit
) -> None:
    tried(resolve(served_store, "features", f"{TRY}&seed=7"), Job())
    assert [(request.seed, request.trial.seed) for request in fit.requests] == [(7, 7)]
    below = str(FEATURES.layout(resolve(served_store, "features", f"{SHOWN}&seed=7")).below)
    assert "A trial with seed 7, not in the store, whose pictures have seed 0." in below
    assert "headscape projections" not in below


@pytest.mark.usefixtures("fitted")
def test_the_seed_of_the_ingest_is_the_trial_without_a_seed(served_store: ServedStore, fit: FakeFit) -> None:
    tried(resolve(served_store, "features", f"{TRY}&seed=0"), Job())
    assert len(fit.requests) == 1


# -- what the canvas asks for ---------------------------------------------------------------------------


@pytest.fixture
def client(fitted: Context) -> FlaskClient:
    return create_app(fitted.served_store).server.test_client()


@pytest.fixture
def base(tiny_corpus: Corpus) -> str:
    return f"{data_link(tiny_corpus)}/features/sample"


VIEW = "trial-5-0.1-euclidean-60-joint"


def test_every_panel_has_the_tokens_of_the_trial(client: FlaskClient, fitted: Context, features: Features) -> None:
    shown = picture_of(fitted)
    assert shown is not None
    points = content(client, shown.points)
    assert len(points) == 24 + len(features.points) * 60 * 2
    assert np.frombuffer(points[4:24], "<u4").tolist() == [len(features.points), 60, 1, 2, 1]
    for url in (shown.raster, shown.colours):
        assert content(client, str(url))


def test_a_token_beyond_the_trial_is_not_drawn(fitted: Context) -> None:
    for token, drawn in ((59, True), (60, False)):
        shown = picture_of(resolve(fitted.served_store, "features", f"{SHOWN}&point=L00.mixed&ftoken={token}"))
        assert shown is not None
        assert (shown.focus is not None, shown.chosen is not None) == (drawn, drawn)


def test_lines_lead_to_tokens_of_the_trial_only(client: FlaskClient, base: str) -> None:
    focus: Any = client.get(f"{base}/focus/points/{VIEW}/L00.mixed/59.json?near=20").json
    assert len(focus["places"]) == len(focus["pieces"])
    assert all(near["token"] < 60 for near in focus["near"])
    assert focus["near"]


def test_a_region_in_a_trial_selects_none_that_it_lacks(client: FlaskClient, base: str) -> None:
    region = f"flasso=points,{VIEW},L00.mixed,0,0,0,0,1000,0,1000,1000,0,1000"
    mask = content(client, f"{base}/mask.bin?{region}")
    selected = np.unpackbits(np.frombuffer(mask[16:], np.uint8))
    assert (selected[:60].sum(), selected.sum()) == (60, 60)


def test_the_file_has_the_tokens_of_the_trial(client: FlaskClient, base: str) -> None:
    rows = content(client, f"{base}/tokens/points/{VIEW}/L00.mixed.csv").decode().splitlines()
    assert len(rows) == 61


def test_a_trial_that_nobody_fitted_is_a_sentence(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/points/points/{VIEW.replace('60', '61')}/grid.bin")
    assert (answer.status_code, answer.text) == (
        404,
        "The server does not have this trial any more. Run it again on page Features.",
    )


# -- one at a time --------------------------------------------------------------------------------------


def test_a_second_reader_is_told_to_wait_and_gets_the_same_trial(served_store: ServedStore, fit: FakeFit) -> None:
    """The two readers have different workers of a server, which share its folder."""
    other = ServedStore(served_store.url, served_store.folder)
    second_fit, name = with_fake_fit(other), new_name()
    fit.go_on.clear()

    def wait() -> list[object]:
        with Jobs(served_store.folder).job(name, TRYING) as job:
            return tried(resolve(other, "features", TRY), job)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tried, resolve(served_store, "features", TRY), Job())
        while not fit.requests:
            sleep(0.01)
        second = pool.submit(wait)
        while not (waiting := Jobs(served_store.folder).waiting(name)) and not second.done():
            sleep(0.01)
        assert waiting == "Waiting for the trial of another reader to end."
        fit.go_on.set()
        assert str(first.result()) == str(second.result())
    assert second_fit.requests == []


def test_a_reader_beyond_the_queue_asks_again(served_store: ServedStore) -> None:
    trials = served_store.service(Trials)
    with ExitStack() as others:
        for _ in range(trials_of_server.READERS):
            others.enter_context(trials.turns.room.entered())
        with pytest.raises(NotYet, match=BUSY):
            tried(resolve(served_store, "features", TRY), Job())


def test_a_cancelled_trial_ends_and_leaves_its_turn(served_store: ServedStore, fit: FakeFit) -> None:
    fit.go_on.clear()
    name, notes = new_name(), Jobs(served_store.folder)

    def run() -> None:
        with notes.job(name, TRYING) as job:
            tried(resolve(served_store, "features", TRY), job)

    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(run)
        while not fit.requests:
            sleep(0.01)
        notes.cancel(name)
        with pytest.raises(Refusal, match="The trial was cancelled"):
            under_way.result()
    fit.go_on.set()
    assert tried(resolve(served_store, "features", TRY), Job())


@pytest.mark.usefixtures("fit")
def test_old_trials_are_deleted(served_store: ServedStore) -> None:
    context = resolve(served_store, "features", TRY)
    features, budget = context.corpus.features("sample"), 30_000
    trials = Trials(
        served_store.folder,
        served_store.url,
        served_store.service(TokenSets),
        lambda request, _watch: picture_by_lot(request),
        budget=budget,
    )
    for neighbors in range(5, 25):
        trials.fitted(context.corpus, features, replace(of(served_store, TRY), neighbors=neighbors), Job())
    sizes = [file.stat().st_size for file in (served_store.folder / "trials").iterdir()]
    assert 0 < len(sizes) < 20
    assert sum(sizes) <= budget
