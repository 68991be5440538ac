"""The groups `normalizations` and `views/<name>` of a model: pictures of queries and keys, their parameters and fidelity."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from store.schema import Array
from store.schema.features import POINT_KINDS, point_kind, point_title, stored_point
from store.schema.model import MODEL_ARRAYS

#: Normalisation -> its description. No normalisation changes attention; formulas: `store/kernels/projection.py`.
NORMALIZATIONS: Mapping[str, str] = {
    "raw": "queries and keys as the model computes them",
    "centroid": "keys are translated so that queries and keys have one centroid (Yeh et al. 2023, AttentionViz)",
    "scaled": "as centroid, with queries times c and keys divided by c; c has the best weighted correlation (Yeh et al. 2023)",
    "sphere": "keys are translated so that they lie as near to a sphere around the origin as possible",
    "exact": "one more coordinate gives all keys one norm, so cosine orders keys as attention does (Bachrach et al. 2014)",
    "shared": "one translation and one scale c for all heads of all layers",
}

#: The normalisation without constants.
RAW = "raw"

_PER_HEAD = ("normalization", "layer", "head")


def _constant(dtype: str, meaning: str) -> Array:
    fill = 0 if dtype == "int64" else float("nan")
    return Array(_PER_HEAD, dtype, _PER_HEAD, meaning, fill=fill)


NORMALIZATION_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "normalization": Array(("normalization",), "str", ("normalization",), "names of the normalisations"),
    "scale": _constant("float64", "c: queries are multiplied by it, keys divided"),
    "shift": Array(
        (*_PER_HEAD, "channel"),
        "float64",
        (*_PER_HEAD, "channel"),
        "added to every key, after the division by the scale",
    ),
    "radius": _constant("float64", "length that exact mode gives every key; NaN elsewhere"),
    "weighted_correlation": _constant(
        "float64", "of q.k and distance over the nearest pairs of one sentence; -1 is best, NaN where there are too few"
    ),
    "pairs": _constant("int64", "pairs behind the weighted correlation"),
    "spearman": _constant(
        "float64", "of q.k and cosine distance in head space, per query, on sentences not used before"
    ),
}

#: Projection of heads -> its title.
PROJECTIONS: Mapping[str, str] = {
    "attention": "Map trained so that distance follows attention",
    "pca": "PCA",
    "tsne": "t-SNE",
    "umap": "UMAP",
    "attentionviz": "AttentionViz look (t-SNE, perplexity 50, 300 steps)",
}
#: Projections of feature points and of the values of heads.
POINT_PROJECTIONS = ("pca", "umap", "tsne")
#: Fits of pictures of feature points: on all points together, or on each point for itself.
JOINT, EACH = "joint", "each"
#: Distances whose neighbours UMAP and t-SNE of feature points preserve.
METRICS = ("euclidean", "cosine")
#: Tokens on which the authors of AttentionViz fit their pictures of a BERT.
ATTENTIONVIZ_TOKENS = 5_021
#: Measures of fidelity. spearman, recall: see `store/kernels/projection.py`; trustworthiness for the 10 nearest neighbours
#: in head space (scikit-learn); across: Spearman of q.k and distance on screen over keys of all sentences.
MEASURES = ("spearman", "recall", "trustworthiness", "across")
#: Sentences that fidelity is measured on: held out of every fit (NaN where the corpus is too small), or fitted on.
JUDGED = ("held_out", "fitted")
#: Number of keys k of the measure `recall`.
RECALL_KEYS = 3
#: Largest stored coordinate. Positions are in a cube with the same side for all components.
LARGEST_COORDINATE = 65535

_OF_HEADS = re.compile(rf"({'|'.join(PROJECTIONS)})-({'|'.join(NORMALIZATIONS)})-([23])d")
_OF_POINTS = re.compile(rf"({'|'.join(POINT_PROJECTIONS)})-({JOINT}|{EACH}|embedding|position|L\d{{2,}}\.[a-z_]+)")


@dataclass(frozen=True)
class ViewName:
    """Name of a view of all heads or of all feature points: projection, vectors, number of components.

    Attributes
    ----------
    vectors
        Normalisation of queries and keys. For feature points, the fit of the projection: on all points together (`joint`),
        on each point for itself (`each`), or on the named point.
    """

    projection: str
    vectors: str
    components: int = 2

    @classmethod
    def parse(cls, name: str) -> "ViewName":
        """Read the name of a view of heads, such as `attention-raw-2d`. ValueError for other names."""
        parts = _OF_HEADS.fullmatch(name)
        if not parts:
            raise ValueError(
                f"{name!r} is not a view. A view is <projection>-<normalization>-<2d or 3d>, with the projections "
                f"{', '.join(PROJECTIONS)} and the normalizations {', '.join(NORMALIZATIONS)}"
            )
        return cls(parts[1], parts[2], int(parts[3]))

    @classmethod
    def parse_points(cls, name: str) -> "ViewName":
        """Read the name of a view of feature points: `umap-joint`, `pca-each`, `pca-L03.mixed`. ValueError for other names."""
        parts = _OF_POINTS.fullmatch(name)
        fitted = stored_point(parts[2]) if parts else ""
        if not parts or (fitted not in (JOINT, EACH) and point_kind(fitted) not in POINT_KINDS):
            raise ValueError(
                f"{name!r} is not a view of feature points. A view is <projection>-<joint, each or a point>, with the "
                f"projections {', '.join(POINT_PROJECTIONS)} and points such as embedding or L00.head_outputs"
            )
        return cls(parts[1], fitted)

    def __str__(self) -> str:
        dimensions = f"-{self.components}d" if self.vectors in NORMALIZATIONS else ""
        return f"{self.projection}-{self.vectors}{dimensions}"

    @property
    def normalization(self) -> str:
        """Normalisation of queries and keys in a view of heads."""
        return self.vectors

    @property
    def point(self) -> str | None:
        """The single feature point that the view is fitted on; None for other views."""
        return None if self.vectors in (JOINT, EACH, *NORMALIZATIONS) else self.vectors

    @property
    def title(self) -> str:
        """Title of the view, as pages show it."""
        projection = PROJECTIONS[self.projection]
        if self.vectors in NORMALIZATIONS:
            return f"{projection} of {self.vectors} vectors in {self.components}D"
        fitted = {JOINT: "of all places together", EACH: "of each place, rotated to match its neighbour"}
        return f"{projection} {fitted.get(self.vectors) or f'fitted on {point_title(self.vectors)}'}"


def _per_head(name: str, dims: tuple[str, ...], meaning: str, dtype: str = "float64") -> dict[str, Array]:
    whole = ("head", *dims)
    return {name: Array(("layer", *whole), dtype, (1, *whole), meaning)}


VIEW_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "role": Array(("role",), "str", ("role",), "query or key"),
    "measure": Array(("measure",), "str", ("measure",), "names of the measures of fidelity"),
    "judged": Array(("judged",), "str", ("judged",), "on held-out sentences, or on those of this fit"),
    "coordinates": Array(
        ("layer", "head", "role", "token", "component"),
        "uint16",
        (1, 1, "role", "tile", "component"),
        "place of each query and key: low + coordinate / 65535 * side",
        (1, "head", "role", "block", "component"),
        0,
        compressed=False,
    ),
    **_per_head("low", ("component",), "lowest place of the cube"),
    **_per_head("side", (), "side of the cube, the same in all directions"),
    "beyond": Array(
        ("task", "layer", "head"),
        "int64",
        (1, "layer", "head"),
        "points of the block outside the cube, drawn on its border",
    ),
    "fidelity": Array(
        ("measure", "judged", "layer", "head"),
        "float64",
        ("measure", "judged", 1, "head"),
        "agreement of distance on screen with attention",
        fill=float("nan"),
    ),
    "fit_hash": Array(("layer",), "uint64", (1,), "hash of everything the layer's fit depends on, 0 if not fitted"),
    "view_hash": Array(
        ("task", "layer"),
        "uint64",
        (1, "layer"),
        "hash of the fit and the block the places were computed from, 0 if none",
    ),
}

#: Projection -> its fitted parameters, which place further tokens; formulas: `store/kernels/projection.py`.
PARAMETERS: Mapping[str, Mapping[str, Array]] = {
    "pca": {
        **_per_head("mean", ("feature",), "mean of the fitted points"),
        **_per_head("components", ("component", "feature"), "axes of the picture"),
        **_per_head("explained", ("component",), "share of the variance on each axis"),
    },
    "attention": {
        **_per_head("weight_in", ("role", "feature", "hidden"), "first layer of the network", "float32"),
        **_per_head("bias_in", ("role", "hidden"), "its bias", "float32"),
        **_per_head(
            "weight_middle", ("role", "hidden", "middle"), "second layer, which earlier versions lack", "float32"
        ),
        **_per_head("bias_middle", ("role", "middle"), "its bias", "float32"),
        **_per_head("weight_out", ("role", "middle", "component"), "last layer", "float32"),
        **_per_head("bias_out", ("role", "component"), "its bias", "float32"),
    },
    **dict.fromkeys(
        ("tsne", "umap", "attentionviz"),
        _per_head("fitted", ("role", "sample", "component"), "places of the fitted tokens", "float32"),
    ),
}
