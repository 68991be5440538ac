"""UMAP as a reader tries it is UMAP as an ingest makes it: against the libraries, and against the store."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

import store
from headscape.__main__ import COMMANDS
from ingest.projections.feature_pictures import LOADED, PLACED, try_picture
from ingest.projections.projection import PlaceGrid
from ingest.run.settings import Settings, parse
from store.schema.pictures import ViewName

#: UMAP is compiled for half a minute; pages with a trial are tested without UMAP, and one trial in a browser.
pytestmark = pytest.mark.slow

Ingest = Callable[..., str]
POINTS = ("embedding", "L00.mixed", "L00.projected")
TOKENS = 70
CHOSEN = Settings(neighbors=6, min_dist=0.3, metric="cosine", seed=3)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(POINTS), TOKENS, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def told() -> list[tuple[float, str]]:
    """Progress (share, stage) that the trial of fixture `tried` tells."""
    return []


@pytest.fixture(scope="module")
def tried(vectors: np.ndarray, told: list[tuple[float, str]]) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """The outcome of a trial on one point."""
    return try_picture(
        ViewName("umap", "L00.mixed"),
        CHOSEN,
        POINTS,
        TOKENS,
        lambda point, tokens: vectors[point, :tokens],
        lambda share, stage: told.append((share, stage)),
    )


def test_the_places_are_those_of_umap_learn(vectors: np.ndarray, tried: tuple[np.ndarray, ...]) -> None:
    from umap import UMAP

    fit = UMAP(n_neighbors=6, min_dist=0.3, metric="cosine", n_epochs=200, random_state=3, n_jobs=1)
    expected = fit.fit_transform(vectors[1])
    coordinates = tried[0].astype(float)[1]
    scale = np.ptp(expected, axis=0) / np.ptp(coordinates, axis=0)
    np.testing.assert_allclose(scale[0], scale[1], rtol=1e-3)
    shown = (coordinates - coordinates.min(axis=0)) * scale + expected.min(axis=0)
    np.testing.assert_allclose(shown, expected, atol=1e-3 * np.ptp(expected))


def test_the_same_seed_gives_the_same_picture_and_another_seed_another(
    vectors: np.ndarray, tried: tuple[np.ndarray, ...]
) -> None:
    same, other = (
        try_picture(
            ViewName("umap", "L00.mixed"),
            Settings(neighbors=6, min_dist=0.3, metric="cosine", seed=seed),
            POINTS,
            TOKENS,
            lambda point, tokens: vectors[point, :tokens],
            lambda *_: None,
        )[0]
        for seed in (CHOSEN.seed, CHOSEN.seed + 1)
    )
    np.testing.assert_array_equal(same, tried[0])
    assert not np.array_equal(other, tried[0])


def test_trustworthiness_is_that_of_scikit_learn(vectors: np.ndarray, tried: tuple[np.ndarray, ...]) -> None:
    for own, coordinates, trust in zip(vectors, tried[0].astype(float), tried[1], strict=True):
        assert trust == pytest.approx(trustworthiness(own, coordinates, n_neighbors=10, metric="cosine"), abs=2e-3)


def test_the_facts_are_those_of_a_stored_picture(tried: tuple[object, object, dict[str, object]]) -> None:
    facts = tried[2]
    assert facts["title"] == "UMAP fitted on L0 head outputs"
    assert facts["fitted_on"] == f"all {TOKENS} tokens at the place L0 head outputs"
    assert facts["parameters"] == {"neighbors": 6, "min_dist": 0.3, "metric": "cosine", "seed": 3}


def test_a_trial_tells_how_far_it_is(tried: object, told: list[tuple[float, str]]) -> None:
    shares = [share for share, _ in told]
    assert tried
    assert shares == sorted(shares)
    assert list(dict.fromkeys(stage for _, stage in told)) == [
        "Starting UMAP",
        "Fitting UMAP",
        "Placing the tokens",
        "Measuring trustworthiness",
    ]
    assert len([share for share in shares if LOADED < share < PLACED]) > 1


def test_the_command_of_the_page_makes_the_trial_permanent(tiny_store: str, ingest: Ingest, tmp_path: Path) -> None:
    from dashboard.features.trial import Trial

    place = str(shutil.copytree(tiny_store, tmp_path / "store"))
    corpus = store.open_corpus(place)
    features = corpus.features("sample")
    trial = Trial(6, 0.3, "cosine", features.n_tokens, "L00.mixed")
    program, command, *flags = shlex.split(trial.command(corpus, features))
    assert program == "headscape"
    settings = vars(parse([*COMMANDS[command].arguments, *flags]))
    asked = {name: value for name, value in settings.items() if value != getattr(Settings(), name)}
    ingest(Path(place), **asked)
    made = store.open_corpus(place).features("sample")
    assert set(made.views) == {*features.views, "umap-L00.mixed"}
    coordinates, trust, facts = try_picture(
        trial.view,
        Settings(neighbors=6, min_dist=0.3, metric="cosine"),
        features.points,
        trial.tokens,
        lambda point, tokens: features.feature.values[point, :tokens].astype(np.float32),
        lambda *_: None,
    )
    view = made.view("umap-L00.mixed")
    np.testing.assert_array_equal(view.coordinates.values, coordinates)
    np.testing.assert_array_equal(view.trustworthiness.values, trust)
    parameters = {"parameters": json.dumps(facts["parameters"], sort_keys=True)}
    assert {name: view.attrs[name] for name in facts} == facts | parameters


def test_a_cube_is_around_all_points(tried: tuple[np.ndarray, ...]) -> None:
    coordinates = tried[0]
    assert (coordinates.min(), coordinates.max()) == (0, 65535)
    assert PlaceGrid.around(coordinates.astype(float), panels=0).side == pytest.approx(65535)
