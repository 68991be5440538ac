"""Pictures of every kind in one store: their places, and their fidelity by scipy and scikit-learn."""

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.distance import cdist
from scipy.special import expit, softmax
from scipy.stats import spearmanr
from sklearn.manifold import trustworthiness

import store
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from ingest.projections.projection import Projection
from store.kernels.projection import trustworthy
from store.schema.pictures import JUDGED, MEASURES, PARAMETERS, ViewName
from tests.stores import NEIGHBOUR_TOKENS, RICH_VIEWS

VIEWS = pytest.mark.parametrize("name", RICH_VIEWS)
FORMULAS = pytest.mark.parametrize("name", [name for name in RICH_VIEWS if name.startswith(("pca", "attention-"))])
NEIGHBOURS = pytest.mark.parametrize("name", ["attentionviz-centroid-2d", "umap-exact-2d"])


@pytest.fixture(scope="module")
def corpus(rich_store: str) -> store.Corpus:
    return store.open_corpus(rich_store)


def head_vectors(corpus: store.Corpus, layer: int, head: int) -> np.ndarray:
    """Queries and keys of one head (role, token, channel)."""
    return np.stack(
        [role_vectors[layer, head].isel(token=corpus.rows).values for role_vectors in (corpus.query, corpus.key)]
    ).astype("f4")


def head_normalized(corpus: store.Corpus, name: str, layer: int, head: int) -> np.ndarray:
    """Queries and keys after the view's normalisation: q c and k / c + a, in exact mode with one more coordinate."""
    normalization = ViewName.parse(name).normalization
    constants = corpus.normalizations.sel(normalization=normalization)[{"layer": layer, "head": head}]
    query, key = head_vectors(corpus, layer, head).astype(np.float64)
    query, key = query * float(constants.scale), key / float(constants.scale) + constants["shift"].values
    if normalization == "exact":
        height = np.sqrt(np.maximum(float(constants.radius) ** 2 - (key**2).sum(axis=-1), 0))
        query, key = np.column_stack([query, np.zeros(len(query))]), np.column_stack([key, height])
    return np.stack([query, key])


def places_of(corpus: store.Corpus, name: str, layer: int, head: int) -> np.ndarray:
    """Stored places (role, token, component) in the view's own unit."""
    view = corpus.view(name).isel(layer=layer, head=head)
    shares = np.moveaxis(corpus.places(name, corpus.rows, layer=layer, head=head), 1, 0)
    return view.low.values + shares.astype(np.float64) * float(view.side)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


# -- names and order ----------------------------------------------------------------------------------------


def test_flat_pictures_come_first_then_the_most_faithful(corpus: store.Corpus) -> None:
    def rank(name: str) -> tuple[int, float]:
        held_out = corpus.view(name).fidelity.sel(measure="spearman", judged="held_out")
        return ViewName.parse(name).components, float(held_out.mean())

    assert corpus.views == sorted(RICH_VIEWS, key=rank)
    assert len({rank(name) for name in RICH_VIEWS}) == len(RICH_VIEWS)


def test_the_trained_picture_comes_first(corpus: store.Corpus) -> None:
    assert corpus.views[0] == "attention-raw-2d"


@VIEWS
def test_a_view_says_how_it_came_about(name: str, corpus: store.Corpus) -> None:
    attributes, parsed = corpus.view(name).attrs, ViewName.parse(name)
    assert (attributes["title"], attributes["projection"]) == (parsed.title, parsed.projection)
    assert (attributes["normalization"], attributes["components"]) == (parsed.normalization, parsed.components)
    assert attributes["fitted_on"].endswith(f"sentences, {attributes['sample_tokens']} tokens")
    assert (attributes["sentences"], attributes["tokens"]) == (corpus.n_sentences, corpus.n_tokens)


@VIEWS
def test_a_view_has_its_dims_and_its_formula(name: str, corpus: store.Corpus) -> None:
    view, parsed = corpus.view(name), ViewName.parse(name)
    assert view.coordinates.dtype == np.uint16
    assert view.coordinates.dims == ("layer", "head", "role", "token", "component")
    assert view.sizes["component"] == parsed.components
    assert set(PARAMETERS[parsed.projection]) <= set(view)


@NEIGHBOURS
def test_pictures_of_neighbours_are_fitted_on_fewer_tokens(name: str, corpus: store.Corpus) -> None:
    ends = np.cumsum(corpus.sentences.row_size.values)
    assert corpus.view(name).attrs["sample_tokens"] == ends[ends <= NEIGHBOUR_TOKENS].max()


@pytest.mark.parametrize("page", ["store", "heads", "head"])
def test_the_attentionviz_look_says_how_many_tokens_its_authors_fit(page: str, rich_store: str) -> None:
    def shown(view: str) -> str:
        context = resolve(ServedStore(rich_store), page, f"view={view}")
        drawn = TOPICS[page].layout(context)
        return f"{drawn.above} {drawn.below}"

    assert "(AttentionViz: 5,021)" in shown("attentionviz-centroid-2d")
    assert page == "store" or "AttentionViz:" not in shown("pca-exact-2d")


# -- places -------------------------------------------------------------------------------------------------


def places_by_formula(corpus: store.Corpus, name: str, layer: int, head: int) -> np.ndarray:
    """Places (role, token, component) by the stored formula, spelled out in float64."""
    view = corpus.view(name)
    own = {part: view[part][layer, head].values.astype(np.float64) for part in PARAMETERS[name.partition("-")[0]]}
    vectors = head_normalized(corpus, name, layer, head)
    if name.startswith("pca"):
        return (unit(vectors) - own["mean"]) @ own["components"].T
    for layer_name in ("in", "middle"):
        vectors = np.stack([vectors[r] @ own[f"weight_{layer_name}"][r] + own[f"bias_{layer_name}"][r] for r in (0, 1)])
        vectors = vectors * expit(vectors)
    return np.stack([vectors[r] @ own["weight_out"][r] + own["bias_out"][r] for r in (0, 1)])


@FORMULAS
def test_stored_places_are_those_of_the_formula_as_exact_as_16_bits(name: str, corpus: store.Corpus) -> None:
    """The tolerance is half a step of the grid, and as much again for float32; places beyond the cube are on its border."""
    view = corpus.view(name).load()
    for layer, head in np.ndindex(2, 2):
        low, side = view.low[layer, head].values, float(view.side[layer, head])
        expected = np.clip(places_by_formula(corpus, name, layer, head), low, low + side)
        np.testing.assert_allclose(places_of(corpus, name, layer, head), expected, atol=side / 65535)


@FORMULAS
def test_points_beyond_the_cube_are_counted(name: str, corpus: store.Corpus) -> None:
    """The test leaves out points so close to the border that float32 decides."""
    view, certain, possible = corpus.view(name).load(), 0, 0
    for layer, head in np.ndindex(2, 2):
        within = (places_by_formula(corpus, name, layer, head) - view.low[layer, head].values) / float(
            view.side[layer, head]
        )
        outside = np.maximum(-within, within - 1).max(axis=-1)
        certain, possible = certain + int((outside > 1e-5).sum()), possible + int((outside > -1e-5).sum())
    assert certain <= int(view.beyond.sum()) == view.attrs["beyond"] <= possible


@VIEWS
def test_the_cube_is_a_tenth_wider_than_the_fitted_tokens_and_round_their_middle(
    name: str, corpus: store.Corpus
) -> None:
    view = corpus.view(name)
    fitted = int(view.attrs["sample_tokens"])
    for layer, head in np.ndindex(2, 2):
        places = places_of(corpus, name, layer, head)[:, :fitted]
        low, high = places.min(axis=(0, 1)), places.max(axis=(0, 1))
        side = float(view.side[layer, head])
        assert side == pytest.approx((high - low).max() * 1.1, rel=1e-3)
        np.testing.assert_allclose(view.low[layer, head], (low + high - side) / 2, atol=side * 1e-3)


@NEIGHBOURS
def test_places_of_fitted_tokens_are_those_the_library_gave(name: str, corpus: store.Corpus) -> None:
    view = corpus.view(name).load()
    for layer, head in np.ndindex(2, 2):
        fitted_places = view.fitted[layer, head].values
        placed = places_of(corpus, name, layer, head)[:, : fitted_places.shape[1]]
        np.testing.assert_allclose(placed, fitted_places, atol=float(view.side[layer, head]) / 65535)


@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("points", [30, 60], ids=["random start", "spectral start"])
def test_umap_gives_the_same_places_bit_for_bit(points: int, components: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((points, 4)).astype(np.float32)
    fit = Projection.of_heads("umap", components=components, seed=3).fit
    first, other = (fit(vectors)["fitted"] for _ in range(2))
    assert (first.shape, first.dtype) == ((points, components), np.float32)
    np.testing.assert_array_equal(first, other)


@NEIGHBOURS
def test_places_of_other_tokens_are_means_of_their_five_nearest(name: str, corpus: store.Corpus) -> None:
    """The exception are tokens whose nearest depend on rounding: every [CLS] of layer 0 is at the place of all fitted ones."""
    view = corpus.view(name).load()
    for layer, head in np.ndindex(2, 2):
        fitted_places = view.fitted[layer, head].values.astype(np.float64)
        vectors = head_normalized(corpus, name, layer, head)
        fitted, others = (vectors[:, rows].reshape(-1, vectors.shape[-1]) for rows in split(fitted_places.shape[1]))
        square = 2 * cdist(others, fitted, "cosine")
        near = np.argsort(square, axis=1)[:, :5]
        weight = 1 / (np.take_along_axis(square, near, 1) + 1e-6)
        expected = (fitted_places.reshape(-1, 2)[near] * weight[..., None]).sum(axis=1) / weight.sum(
            axis=1, keepdims=True
        )
        placed = places_of(corpus, name, layer, head)[:, fitted_places.shape[1] :].reshape(-1, 2)
        ordered = np.sort(square, axis=1)
        apart = (ordered[:, 0] > 1e-3) & (ordered[:, 5] - ordered[:, 4] > 1e-5)
        assert apart.mean() > 0.5
        np.testing.assert_allclose(placed[apart], expected[apart], atol=float(view.side[layer, head]) * 1e-3)


def split(fitted: int) -> tuple[slice, slice]:
    return slice(fitted), slice(fitted, None)


# -- fidelity -----------------------------------------------------------------------------------------------


def judged_sentences(corpus: store.Corpus, name: str, judged: str) -> range:
    """Sentences of the fit, or those after the sample of the normalisations, which is the largest sample."""
    if judged == "fitted":
        return range(int(corpus.view(name).attrs["sample_sentences"]))
    return range(int(corpus.view("pca-exact-2d").attrs["sample_sentences"]), corpus.n_sentences)


def token_numbers(corpus: store.Corpus, sentence: int) -> slice:
    ends = np.cumsum(corpus.sentences.row_size.values)
    return slice(int(ends[sentence] - corpus.sentences.row_size.values[sentence]), int(ends[sentence]))


def fidelity_by_hand(corpus: store.Corpus, name: str, judged: str, layer: int, head: int) -> dict[str, float]:
    query, key = head_vectors(corpus, layer, head).astype(np.float64)
    places = places_of(corpus, name, layer, head)
    spans = [token_numbers(corpus, sentence) for sentence in judged_sentences(corpus, name, judged)]
    within = [within_by_hand(query[rows] @ key[rows].T, cdist(*places[:, rows]), query.shape[-1]) for rows in spans]
    rows = slice(spans[0].start, spans[-1].stop)
    return {
        "spearman": np.mean([agreement[0] for agreement in within]),
        "recall": np.mean([agreement[1] for agreement in within]),
        "trustworthiness": trust_by_hand(head_normalized(corpus, name, layer, head)[:, rows], places[:, rows]),
        "across": across_by_hand(query[rows], key[rows], places[:, rows]),
    }


def within_by_hand(dots: np.ndarray, distance: np.ndarray, channels: int) -> tuple[float, float]:
    pairs = list(zip(softmax(dots / np.sqrt(channels), axis=-1), distance, strict=True))
    recalls = [len(set(np.argsort(-weights)[:3]) & set(np.argsort(away)[:3])) / 3 for weights, away in pairs]
    return float(np.mean([spearmanr(*pair).statistic for pair in pairs])), float(np.mean(recalls))


def trust_by_hand(vectors: np.ndarray, places: np.ndarray) -> float:
    return float(trustworthiness(np.concatenate(vectors), np.concatenate(places), n_neighbors=10, metric="cosine"))


def across_by_hand(query: np.ndarray, key: np.ndarray, places: np.ndarray) -> float:
    """Mean Spearman correlation of 100 queries at even steps with all keys, which are fewer than 600."""
    some = np.linspace(0, len(query) - 1, min(100, len(query))).astype(int)
    dots, distance = query[some] @ key.T, cdist(places[0, some], places[1])
    return float(np.mean([spearmanr(*rows).statistic for rows in zip(dots, distance, strict=True)]))


@VIEWS
@pytest.mark.parametrize("judged", JUDGED)
def test_fidelity_is_what_scipy_and_scikit_learn_say(name: str, judged: str, corpus: store.Corpus) -> None:
    fidelity = corpus.view(name).fidelity.sel(judged=judged, measure=list(MEASURES))[:, 1, 0]
    expected = fidelity_by_hand(corpus, name, judged, 1, 0)
    np.testing.assert_allclose(fidelity, [expected[measure] for measure in MEASURES], atol=3e-3)


def test_the_trained_picture_is_at_least_as_faithful_as_principal_components(corpus: store.Corpus) -> None:
    def held_out(name: str) -> xr.DataArray:
        return corpus.view(name).fidelity.sel(judged="held_out", measure="spearman").mean()

    assert held_out("attention-raw-2d") <= min(held_out("pca-exact-2d"), held_out("pca-centroid-2d"))


def test_a_third_dimension_makes_principal_components_more_faithful(corpus: store.Corpus) -> None:
    flat, solid = (corpus.view(f"pca-exact-{n}d").fidelity.sel(measure="spearman") for n in (2, 3))
    assert (solid.mean(["layer", "head"]) < flat.mean(["layer", "head"])).all()


def test_trustworthiness_of_a_picture_that_keeps_all_neighbours_is_one() -> None:
    angle = np.linspace(0, 1, 25)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert trustworthy(points, angle[:, None]) == pytest.approx(1)


def test_trustworthiness_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    points, places = random.standard_normal((40, 5)), random.standard_normal((40, 2))
    assert trustworthy(points, places) == trustworthiness(points, places, n_neighbors=10, metric="cosine")


@pytest.mark.parametrize(("points", "known"), [(1, False), (2, False), (3, True), (12, True)])
def test_trustworthiness_of_a_few_points_takes_fewer_neighbours_or_is_not_known(points: int, known: bool) -> None:
    random = np.random.default_rng(0)
    assert np.isnan(trustworthy(random.random((points, 4)), random.random((points, 2)))) != known
