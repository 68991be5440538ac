"""How the code hangs together: who imports whom, and how long things are."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

import store

ROOT = Path(__file__).parents[1]
PACKAGES = ("ingest", "store", "dashboard")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_of(*packages: str, kinds: tuple[str, ...] = (".py",)) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*") if path.suffix in kinds)


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=[str(path.relative_to(ROOT)) for path in paths])


FILES = files_of(*PACKAGES)
EVERY_FILE = each(FILES)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imported(tree: ast.AST) -> set[str]:
    """Dotted names of the modules that the nodes below import."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def imported_at_once(path: Path) -> set[str]:
    """What importing the module imports: not what stands in functions or is there for types only."""
    nodes = [node for node in parsed(path).body if not isinstance(node, Function | ast.ClassDef)]
    nodes = [node for node in nodes if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    return set().union(*map(imported, nodes))


def packages(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parsed(path)) if isinstance(node, Function))


def code_lines(path: Path, function: Function) -> int:
    """Lines of a function that hold code: no docstring, no comment, nothing empty."""
    lines = path.read_text("utf-8").splitlines()
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    skipped = range(docstring.lineno, (docstring.end_lineno or 0) + 1) if docstring else range(0)
    numbers = (number for number in range(function.lineno, (function.end_lineno or 0) + 1) if number not in skipped)
    return sum(bool(lines[number - 1].strip()) and not lines[number - 1].strip().startswith("#") for number in numbers)


def lengths() -> list[int]:
    return sorted(code_lines(path, function) for path in FILES for function in functions(path))


def test_the_packages_under_test_are_those_of_this_repository() -> None:
    assert Path(store.__file__).parent == ROOT / "store"


@pytest.mark.parametrize("package", [*PACKAGES, "store/kernels"])
def test_every_package_has_files_to_look_at(package: str) -> None:
    assert len(files_of(package)) > 10


@pytest.mark.parametrize("path", files_of("store/kernels"), ids=lambda path: path.name)
def test_kernels_know_only_arrays_and_the_schema(path: Path) -> None:
    allowed = {"numpy", "collections", "sys", "types", "typing", "store"}
    assert packages(imported_at_once(path)) <= allowed
    assert packages(imported(parsed(path))) <= allowed | {"scipy", "sklearn"}
    own = {name for name in imported(parsed(path)) if name.startswith("store")}
    assert all(name.startswith(("store.kernels", "store.schema")) for name in own)


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("store", {"torch", "transformers", "datasets", "dash", "flask", "ingest", "dashboard"}),
        ("ingest", {"dash", "flask", "plotly", "dashboard"}),
    ],
)
def test_a_package_never_imports_what_is_above_it(package: str, forbidden: set[str]) -> None:
    for path in files_of(package):
        assert not packages(imported(parsed(path))) & forbidden, path


def test_importing_the_dashboard_loads_neither_the_ingest_nor_a_model() -> None:
    for path in files_of("dashboard"):
        assert not packages(imported_at_once(path)) & {"ingest", "torch", "transformers", "datasets"}, path


@EVERY_FILE
def test_no_function_is_longer_than_fifty_lines(path: Path) -> None:
    assert {one.name: code_lines(path, one) for one in functions(path) if code_lines(path, one) > 50} == {}


def test_most_functions_are_short() -> None:
    found = lengths()
    assert median(found) <= 8
    assert found[int(0.9 * len(found))] <= 25


@each(files_of(*PACKAGES, "tests", kinds=(".py", ".js", ".css")))
def test_no_file_is_longer_than_three_hundred_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 300


@EVERY_FILE
def test_a_file_is_named_after_what_is_in_it(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}


@EVERY_FILE
def test_every_parameter_has_a_type(path: Path) -> None:
    for function in functions(path):
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bare = [one.arg for one in every if one and one.annotation is None and one.arg not in ("self", "cls")]
        assert bare == [], function.name


@EVERY_FILE
def test_every_result_has_a_type(path: Path) -> None:
    assert [one.name for one in functions(path) if one.returns is None] == []


@each(files_of("store"))
def test_everything_public_in_the_store_is_described(path: Path) -> None:
    tree = parsed(path)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    members = [*tree.body, *(member for one in classes for member in one.body)]
    public = [one for one in members if isinstance(one, Function | ast.ClassDef) and not one.name.startswith("_")]
    assert ast.get_docstring(tree)
    assert [one.name for one in public if not ast.get_docstring(one)] == []
