"""The pictures of feature points: how a view is named, and how a person reads its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from store.feature_points import POINT_KINDS, point_kind, point_title, stored_point

#: Projections, and how a person reads their names.
PROJECTIONS: Mapping[str, str] = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
#: Of what distance UMAP and t-SNE keep the neighbours.
METRICS = ("euclidean", "cosine")
JOINT, EACH = "joint", "each"

_NAME = re.compile(rf"({'|'.join(PROJECTIONS)})-({JOINT}|{EACH}|embedding|position|L\d{{2,}}\.[a-z_]+)")


@dataclass(frozen=True)
class FeatureViewName:
    """A picture of all points: which projection, and what it is fitted on: all points, each for itself, or one of them."""

    projection: str
    fitted: str

    @classmethod
    def parse(cls, name: str) -> "FeatureViewName":
        """From `umap-joint`, `pca-each` or `pca-L03.head_outputs`; a ValueError where that is none."""
        found = _NAME.fullmatch(name)
        fitted = stored_point(found[2]) if found else ""
        if not found or (fitted not in (JOINT, EACH) and point_kind(fitted) not in POINT_KINDS):
            raise ValueError(
                f"{name!r} is no view of feature points: a view is <projection>-<joint, each or a point>, with the "
                f"projections {', '.join(PROJECTIONS)} and points such as embedding or L00.head_outputs"
            )
        return cls(found[1], fitted)

    def __str__(self) -> str:
        return f"{self.projection}-{self.fitted}"

    @property
    def point(self) -> str | None:
        """The point it is fitted on, where it is one."""
        return None if self.fitted in (JOINT, EACH) else self.fitted

    @property
    def title(self) -> str:
        """How a person reads it."""
        fitted = {JOINT: "of all points together", EACH: "of each point, aligned"}
        return f"{PROJECTIONS[self.projection]} {fitted.get(self.fitted) or f'fitted on {point_title(self.fitted)}'}"
