"""Who imports whom in a tree: arrows between modules, circles, and modules that one other module alone imports."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

#: Packages in the order of imports: no package imports from a later one.
PACKAGES = ("store", "ingest", "dashboard", "headscape")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules_of(root: Path) -> dict[str, Path]:
    """Files of the product by the names of their modules; a package is named as its folder."""
    files = sorted(path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def arrows(modules: dict[str, Path]) -> nx.DiGraph:
    """A node for each module, and an arrow from a module to each module that it imports, in functions too."""
    graph = nx.DiGraph()
    graph.add_nodes_from(modules)
    for name, path in modules.items():
        graph.add_edges_from((name, other) for other in _imported(path, modules) if other != name)
    return graph


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if name in modules)
            if node.module in modules and any(name not in modules for name in names):
                yield node.module


def circles(graph: nx.DiGraph) -> list[set[str]]:
    """Sets of modules that reach each other."""
    return [part for part in nx.strongly_connected_components(graph) if len(part) > 1]


def back_arrows(graph: nx.DiGraph) -> int:
    """Arrows between two folders that run against the more frequent direction between the two.

    A file in no folder of its package is a folder by itself: some are below all folders, some above.
    """
    between: dict[tuple[str, str], int] = defaultdict(int)
    for source, target in graph.edges:
        folders = (_folder(source), _folder(target))
        if folders[0] != folders[1]:
            between[folders] += 1
    return sum(min(count, between.get((b, a), 0)) for (a, b), count in between.items() if a < b)


def _folder(name: str) -> str:
    package, _, rest = name.partition(".")
    return f"{package}.{rest.partition('.')[0]}"


def single_importers(graph: nx.DiGraph) -> dict[str, str]:
    """Modules that exactly one other module imports, and that module. A package's own file is left out."""
    return {name: next(iter(graph.pred[name])) for name in graph if graph.in_degree(name) == 1}
