"""The graph of imports between packages and folders: no arrow from a lower to a higher folder, and no cycle."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Folders of a package from low to high. A folder may import itself and lower ones; files beside the folders are highest.
FOLDERS = {
    "store": ("schema", "kernels", "repository"),
    "ingest": ("family", "run", "text", "encode", "words", "projections", "heads", "finetuning"),
    "dashboard": (
        *(
            "web",
            "access",
            "monitoring",
            "ui",
            "canvas",
            "notes",
            "roles",
            "points",
            "statistics",
            "head_map",
            "relations",
            "features",
            "sentence",
            "compare",
            "models",
            "lessons",
            "store_page",
            "server_page",
            "overview",
            "notebook",
            "programs",
            "published",
            "exchange",
        ),
    ),
}
#: Files beside the folders that have the height of a folder.
PLACED = {"dashboard.topic": "canvas"}
#: Other packages that a package may import.
BELOW = {"store": (), "ingest": ("store",), "dashboard": ("store",), "headscape": ("store", "ingest", "dashboard")}
#: Modules of the dashboard that import the ingest inside of functions: they run its model and its UMAP in other
#: processes, or end as it ends.
RUN_THE_INGEST = (
    "dashboard/web/corpus_model.py",
    "dashboard/sentence/checkpoint.py",
    "dashboard/sentence/encoder.py",
    "dashboard/sentence/review_reader.py",
    "dashboard/features/trials.py",
    "dashboard/features/reading.py",
    "dashboard/publish.py",
)
PACKAGES = [name for name in BELOW if (ROOT / name).is_dir()]


def modules(package: str, root: Path = ROOT) -> Iterator[Path]:
    return (path.relative_to(root) for path in sorted((root / package).rglob("*.py")))


def imports(path: Path, root: Path = ROOT) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import of our packages, also inside of functions and for types."""
    for node in ast.walk(ast.parse((root / path).read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            start = [*path.parts[: -node.level]] if node.level else []
            names = [".".join([*start, *filter(None, [node.module]), name.name]) for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        yield from ((node.lineno, name) for name in names if name.split(".")[0] in BELOW)


def folder_of(parts: tuple[str, ...], package: str, root: Path = ROOT) -> str | None:
    """The folder of a module or of an imported name; None for files beside the folders."""
    if len(parts) < 2:
        return None
    name = parts[1].removesuffix(".py")
    return name if (root / package / name).is_dir() else PLACED.get(f"{package}.{name}")


def arrows(package: str, root: Path = ROOT) -> Iterator[tuple[str | None, str | None, str]]:
    """Arrows between the folders of a package: from, to, and the import in words."""
    for path in modules(package, root):
        own = folder_of(path.parts, package, root)
        for line, name in imports(path, root):
            parts = tuple(name.split("."))
            if parts[0] == package:
                yield own, folder_of(parts, package, root), f"{path}:{line} imports {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_has_its_place_in_the_order(package: str) -> None:
    folders = {path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()}
    assert folders == set(FOLDERS.get(package, ()))


@pytest.mark.parametrize("package", FOLDERS)
def test_no_folder_imports_a_higher_one(package: str) -> None:
    height = {name: number for number, name in enumerate([*FOLDERS[package], None])}
    wrong = [words for own, other, words in arrows(package) if height[other] > height[own]]
    assert not wrong, "\n".join(["A lower folder imports a higher one:", *wrong])


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_those_below(package: str) -> None:
    wrong = [
        f"{path}:{line} imports {name}"
        for path in modules(package)
        for line, name in imports(path)
        if name.split(".")[0] not in (package, *BELOW[package], *(["ingest"] if str(path) in RUN_THE_INGEST else []))
    ]
    assert not wrong, "\n".join(["A package imports one above it:", *wrong])


def importers() -> Counter[str]:
    """How many modules import each module, by its dotted name."""
    every = {path.with_suffix("").as_posix().replace("/", ".") for package in PACKAGES for path in modules(package)}
    counts: Counter[str] = Counter()
    for path in (path for package in PACKAGES for path in modules(package)):
        names = [name for _, name in imports(path)]
        counts.update({name if name in every else name.rpartition(".")[0] for name in names})
    return counts


def test_no_module_of_under_forty_lines_has_a_single_importer() -> None:
    counts, wrong = importers(), []
    for path in (path for package in PACKAGES for path in modules(package)):
        lines = len((ROOT / path).read_text("utf-8").splitlines())
        name = path.with_suffix("").as_posix().replace("/", ".")
        if path.name not in ("__init__.py", "__main__.py") and lines < 40 and counts[name] == 1:
            wrong.append(f"{path}: {lines} lines. Move them to the module that imports them.")
    assert not wrong, "\n".join(wrong)


def test_the_graph_finds_an_import_that_breaks_the_order(tmp_path: Path) -> None:
    for folder in ("web", "points"):
        (tmp_path / "dashboard" / folder).mkdir(parents=True)
    (tmp_path / "dashboard/web/state.py").write_text("from dashboard.points import drawn\nfrom .. import shell\n")
    (tmp_path / "dashboard/points/drawn.py").write_text("def late():\n    import dashboard\n    import dashboard.web\n")
    assert list(arrows("dashboard", tmp_path)) == [
        ("points", None, "dashboard/points/drawn.py:2 imports dashboard"),
        ("points", "web", "dashboard/points/drawn.py:3 imports dashboard.web"),
        ("web", "points", "dashboard/web/state.py:1 imports dashboard.points.drawn"),
        ("web", None, "dashboard/web/state.py:2 imports dashboard.shell"),
    ]
