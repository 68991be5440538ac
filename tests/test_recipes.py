"""The recipes of docs/contributing.md work as written: each is carried out in a copy of the code, and its page is shown."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.recipe_outcome import SENTENCES
from tests.stores import Ingest
from tests.test_docs import ROOT, text

pytestmark = pytest.mark.slow
PACKAGES = ("store", "ingest", "dashboard", "headscape", "tests")
#: Edits by heading of a recipe: file, text in it, and the code that is written after this text.
RECIPES: dict[str, list[tuple[str, str, str]]] = {
    "A new statistic of heads": [
        (
            "store/schema/model.py",
            '    "norm_to_self": _norm_share("itself", "j = i"),\n',
            '    "to_first": _share("the first token", "p(i,1)"),\n',
        ),
        (
            "store/kernels/statistics.py",
            '    "norm_to_self": lambda of: of.to_self * of.value_norm / of.whole,\n',
            '    "to_first": lambda of: of.pattern[..., 0],\n',
        ),
        ("ingest/encode/compiled.py", "    norm_to_self: int\n", "    to_first: int\n"),
        (
            "ingest/encode/compiled.py",
            "    out[at.to_self, query] = row[query]\n",
            "    out[at.to_first, query] = row[0]\n",
        ),
        ("dashboard/statistics/heads.py", '    "norm_to_self": "n. self",\n', '    "to_first": "first",\n'),
    ],
    "A new normalisation": [
        (
            "store/schema/pictures.py",
            '    "shared": "one translation and one scale c for all heads of all layers",\n',
            '    "mean": "keys are translated so that their mean is 0",\n',
        ),
        (
            "ingest/projections/normalizations.py",
            '    "exact": lambda _query, key, _pairs: _exact(key.astype(np.float64)),\n',
            '    "mean": lambda _query, key, _pairs: _moved(-key.astype(np.float64).mean(axis=-2)),\n',
        ),
    ],
    "A new projection of heads": [
        ("store/schema/pictures.py", '    "pca": "PCA",\n', '    "channels": "First channels",\n'),
        (
            "store/schema/pictures.py",
            "PARAMETERS: Mapping[str, Mapping[str, Array]] = {\n",
            """    "channels": {
        **_per_head("mean", ("feature",), "zero"),
        **_per_head("components", ("component", "feature"), "axes of the first channels"),
    },
""",
        ),
        (
            "ingest/projections/projection.py",
            "PROJECTIONS: dict[str, Row] = {\n",
            '    "channels": Row("channels", "channels/1"),\n',
        ),
        (
            "ingest/projections/projection.py",
            "FORMULAS: Mapping[str, Callable[[Floats, int], Parameters]] = {\n",
            '    "channels": first_channels,\n',
        ),
        (
            "ingest/projections/projection.py",
            '    return {"mean": mean, "components": axes, "explained": explained}\n',
            '''

def first_channels(points: Floats, components: int) -> Parameters:
    """The first channels of points (point, feature)."""
    features = points.shape[-1]
    return {"mean": np.zeros(features), "components": np.eye(components, features)}
''',
        ),
        ("dashboard/points/distance.py", '    by_projection = {"pca": _by_pca, ', '"channels": _by_pca, '),
    ],
    "A new kind of what a note is about": [
        ("dashboard/notes/target.py", 'Kind = Literal["head", ', '"layer", '),
        (
            "dashboard/notes/target.py",
            '        return _opened(corpus, "head").with_(layer=self.layer, head=self.head).href\n',
            '''

@dataclass(frozen=True)
class LayerTarget(Target):
    """A layer of a model, on whatever corpus."""

    kind = "layer"
    model: Model
    layer: Index

    def title(self, _corpus: Corpus) -> str:
        """Such as `layer 3`."""
        return f"layer {self.layer}"

    def href(self, corpus: Corpus) -> str | None:
        """The first head of the layer, on page Head."""
        return HeadTarget(self.model, self.layer, 0).href(corpus)
''',
        ),
        ("dashboard/notes/target.py", "    each.kind: each for each in (HeadTarget, ", "LayerTarget, "),
        ("dashboard/web/state.py", 'NOTED = ("head", ', '"layer", '),
        ("dashboard/notes/page.py", '    "head": "heads",\n', '    "layer": "layers",\n'),
        (
            "dashboard/points/page.py",
            '            note_panel(f"head-{number}", HeadTarget.of(shown.corpus, *head), title=None),\n',
            '            note_panel(f"layer-{number}", LayerTarget(model_identity(shown.corpus), head[0])),\n',
        ),
        ("dashboard/points/page.py", "from dashboard.notes.target import ", "LayerTarget, model_identity, "),
    ],
}
OF_RECIPE = pytest.mark.parametrize("heading", RECIPES)


@pytest.fixture(scope="module")
def outcome(
    ingest: Ingest, tiny_model: Path, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Outcome of a copy of the code in which all recipes were carried out, on a store from before."""
    folder = tmp_path_factory.mktemp("recipes")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("*.nb[ci]"))
    for edits in RECIPES.values():
        for file, after, written in edits:
            code = (folder / file).read_text("utf-8")
            assert code.count(after) == 1, f"{file} has no {after!r}, which the recipe writes after"
            (folder / file).write_text(code.replace(after, after + written), "utf-8")
    place = ingest(folder / "store-made-before", sentences=SENTENCES)
    command = [sys.executable, "-m", "tests.recipe_outcome", place, str(tiny_model), str(tiny_data)]
    # For few sentences Python itself runs the changed code sooner than numba compiles it.
    uncompiled = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    ended = subprocess.run(command, cwd=folder, env=uncompiled, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    shown: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return shown


@OF_RECIPE
def test_a_recipe_names_every_file_that_it_changes(heading: str) -> None:
    recipe = text("docs/contributing.md").split(f"### {heading}\n")[1].split("\n### ")[0]
    named = set(re.findall(r"`([\w/]+\.py)`", recipe))
    assert {file for file, _, _ in RECIPES[heading]} <= named
    assert all((ROOT / file).is_file() for file in named)


def test_a_new_statistic_is_computed_by_both_implementations_in_a_store_made_before(outcome: dict[str, Any]) -> None:
    assert "This store has no attention to the first token: run" in outcome["before"]
    assert outcome["first"] == outcome["cls"]  # the first token of every sentence is [CLS]
    assert outcome["sound"]
    assert "attention to the first token" in outcome["statistics"]
    assert "This store has no" not in outcome["statistics"]


def test_a_new_normalisation_moves_keys_in_a_store_made_before(outcome: dict[str, Any]) -> None:
    assert "mean" in outcome["normalizations"]
    assert outcome["mean_key"] < 1e-6
    assert "mean: keys are translated so that their mean is 0." in outcome["heads"]


def test_a_new_projection_places_tokens_of_the_corpus_and_of_a_typed_sentence(outcome: dict[str, Any]) -> None:
    assert "channels-raw-2d" in outcome["views"]
    assert outcome["misplaced"] < 1e-3
    assert "First channels" in outcome["pictures"]


def test_a_new_kind_of_note_has_a_title_and_a_panel_on_its_page(outcome: dict[str, Any]) -> None:
    assert outcome["note"] == "layer 1"
    assert "layer/" in outcome["head"]
