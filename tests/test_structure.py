"""Structure of the code: imports between modules, and lengths of files and functions."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

import store
from tests.structure.figures import takes
from tests.structure.imports import arrows, back_arrows, circles, modules_of

ROOT = Path(__file__).parents[1]
PACKAGES = ("ingest", "store", "dashboard")
Function = ast.FunctionDef | ast.AsyncFunctionDef
#: First words with which a text is read only by who knows the code.
PRONOUN = re.compile(r"(Those|Th(at|is|ese)(?= (of|in|with|at)\b|[:.,])|They|Its?|As above)\b|The same\.")


def files_of(*packages: str, kinds: tuple[str, ...] = (".py",)) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*") if path.suffix in kinds)


def offenders(paths: list[Path], find: Callable[[Path], Iterable[object]]) -> dict[str, list[object]]:
    """Findings of `find` in each file, by the file's path; files without findings are left out."""
    everything = {str(path.relative_to(ROOT)): list(find(path)) for path in paths}
    return {name: offending for name, offending in everything.items() if offending}


FILES = files_of(*PACKAGES)


@cache
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
    """Modules that are imported with the module: without imports in functions, or for types only."""
    nodes = [node for node in parsed(path).body if not isinstance(node, Function | ast.ClassDef)]
    nodes = [node for node in nodes if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    return set().union(*map(imported, nodes))


def packages(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parsed(path)) if isinstance(node, Function))


def code_lines(path: Path, function: Function) -> int:
    """Lines of a function that hold code: without docstring, comments and empty lines."""
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
    assert len(files_of(package)) > 5


def unknown_to_kernels(path: Path) -> set[str]:
    """Modules that a kernel must not import; allowed are numpy, the schema, kernels and, within functions, modules that rank or test."""
    allowed = {"numpy", "collections", "dataclasses", "functools", "sys", "types", "typing", "unicodedata", "store"}
    at_once, every = imported_at_once(path), imported(parsed(path))
    forbidden = (packages(at_once) - allowed) | (packages(every) - allowed - {"scipy", "sklearn"})
    own = {name for name in every if name.startswith("store")}
    return forbidden | {name for name in own if not name.startswith(("store.kernels", "store.schema"))}


def test_kernels_know_only_arrays_and_the_schema() -> None:
    assert offenders(files_of("store/kernels"), unknown_to_kernels) == {}


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


def test_no_two_modules_import_each_other_even_through_others() -> None:
    graph = arrows(modules_of(ROOT))
    assert circles(graph) == []
    assert back_arrows(graph) == 0, "two folders import from each other"


def test_no_function_is_longer_than_fifty_lines() -> None:
    def long(path: Path) -> list[str]:
        return [function.name for function in functions(path) if code_lines(path, function) > 50]

    assert offenders(FILES, long) == {}


def test_most_functions_are_short() -> None:
    lengths_found = lengths()
    assert median(lengths_found) <= 8
    assert lengths_found[int(0.9 * len(lengths_found))] <= 25


def test_no_file_is_longer_than_450_lines() -> None:
    long = offenders(
        files_of(*PACKAGES, "tests", kinds=(".py", ".js", ".mjs", ".css")),
        lambda path: [lines for lines in [len(path.read_text("utf-8").splitlines())] if lines > 450],
    )
    assert long == {}


def test_a_file_is_named_after_what_is_in_it() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}
    assert [path for path in FILES if path.stem in empty] == []


def untyped_parameters(path: Path) -> Iterator[str]:
    for function in functions(path):
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bare = [
            argument.arg
            for argument in every
            if argument and argument.annotation is None and argument.arg not in ("self", "cls")
        ]
        yield from (f"{function.name}: {name}" for name in bare)


def test_every_parameter_has_a_type() -> None:
    assert offenders(FILES, untyped_parameters) == {}


def test_every_result_has_a_type() -> None:
    assert (
        offenders(FILES, lambda path: [function.name for function in functions(path) if function.returns is None]) == {}
    )


def undescribed(path: Path) -> list[str]:
    """Public names of a module, and the module itself, that have no docstring."""
    tree = parsed(path)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    members = [*tree.body, *(member for node in classes for member in node.body)]
    public = [node for node in members if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")]
    module = [] if ast.get_docstring(tree) else ["the module"]
    return module + [node.name for node in public if not ast.get_docstring(node)]


def test_everything_public_in_the_store_is_described() -> None:
    assert offenders(files_of("store"), undescribed) == {}


def pronouns_first(path: Path) -> list[str]:
    """First lines of docstrings and of comments of constants that begin with a pronoun in place of a noun."""
    nodes = ast.walk(parsed(path))
    texts = [ast.get_docstring(node) for node in nodes if isinstance(node, Function | ast.ClassDef | ast.Module)]
    comments = re.findall(r"^ *#: (.*)", path.read_text("utf-8"), re.MULTILINE)
    return [text.splitlines()[0] for text in [*filter(None, texts), *comments] if PRONOUN.match(text)]


def test_a_docstring_begins_with_a_noun_or_a_verb_in_place_of_a_pronoun() -> None:
    assert offenders(files_of(*PACKAGES, "headscape", "tests"), pronouns_first) == {}


@pytest.mark.parametrize(
    ("find", "code"),
    [
        (unknown_to_kernels, "import torch"),
        (unknown_to_kernels, "def rank():\n    from store.repository.writer import Writer"),
        (untyped_parameters, "def rank(values): ..."),
        (undescribed, "class Rank: ..."),
        (pronouns_first, '"""Those of a head."""'),
        (pronouns_first, "#: That of a head.\nRANK = 1"),
        (pronouns_first, 'def rank():\n    """As above."""'),
    ],
)
def test_an_offender_is_found(find: Callable[[Path], Iterable[object]], code: str, tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text(code)
    assert list(find(tmp_path / "rank.py"))


def test_few_functions_take_the_context() -> None:
    """A context gives access to everything: a topic reads it once, and functions below take only the values that they need."""
    taking = offenders(FILES, lambda path: [node.name for node in functions(path) if takes(node, "Context")])
    assert sum(map(len, taking.values())) < 60, taking
