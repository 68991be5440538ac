"""Figures of a source tree: number of rooms, their size, and imports between them."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from tests.structure.imports import Function, arrows, back_arrows, circles, modules_of, single_importers

#: A module with fewer lines and a single importer is a door without a room.
SHORT = 60


@dataclass(frozen=True)
class Lengths:
    """Lines of the files or functions of a tree."""

    lines: list[int]

    def __str__(self) -> str:
        return f"{median(self.lines):.0f}, {quantiles(self.lines, n=10)[-1]:.0f}"


def figures(root: Path) -> dict[str, str]:
    """Figures of the tree below `root`, by their titles."""
    modules = modules_of(root)
    graph = arrows(modules)
    trees = [ast.parse(path.read_text("utf-8")) for path in modules.values()]
    lines = {name: _lines(path) for name, path in modules.items()}
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, Function)]
    single = single_importers(graph)
    siblings = [name for name, by in single.items() if name.rpartition(".")[0] == by.rpartition(".")[0]]
    scripts = [path for path in (root / "dashboard/assets").rglob("*") if path.suffix in (".mjs", ".js")]
    tests = [path.read_text("utf-8") for path in (root / "tests").rglob("*.py") if "structure" not in path.parts]
    docs = list((root / "docs").glob("*.md"))
    return {
        "Python files": f"{len(modules)}",
        "lines": f"{sum(lines.values()):,}",
        "lines of a file: median, 90th percentile": str(Lengths(list(lines.values()))),
        "functions": f"{len(functions):,}",
        "lines of a function: median, 90th percentile": str(Lengths([_length(node) for node in functions])),
        "files with a single importer (lines)": f"{len(single)} ({sum(lines[name] for name in single):,})",
        "of these in the folder of the importer": f"{len(siblings)}",
        f"of these under {SHORT} lines": f"{sum(lines[name] < SHORT for name in single)}",
        "import circles": f"{len(circles(graph))}",
        "arrows against the direction of two folders": f"{back_arrows(graph)}",
        "functions that take Context": f"{sum(takes(node, 'Context') for node in functions)}",
        "JavaScript files (lines)": f"{len(scripts)} ({sum(map(_lines, scripts)):,})",
        "setattr in tests, by dotted string": ", ".join(map(str, patches("\n".join(tests)))),
        "tests": f"{sum(len(re.findall(r'^ *def test_', text, re.MULTILINE)) for text in tests):,} functions",
        "words of README": f"{_words(root / 'README.md'):,}",
        "words of README and docs": f"{sum(map(_words, [root / 'README.md', *docs])):,}",
    }


def takes(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a parameter of the function has the type `name`, alone or within another type."""
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    types = [ast.unparse(parameter.annotation) for parameter in parameters if parameter.annotation]
    return any(re.search(rf"\b{name}\b", text) for text in types)


def patches(text: str) -> tuple[int, int]:
    """Calls of `setattr` of pytest's patches in the text, and calls that name their target in a dotted string."""
    return len(re.findall(r"\.setattr\(", text)), len(re.findall(r"\.setattr\(\s*f?[\"'][\w.{}]+[\"'],", text))


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def _words(path: Path) -> int:
    return len(path.read_text("utf-8").split())
