"""Walks: the files that a reader opens who follows the program, from an action of a user to its visible result.

`walks.toml` lists the steps of each walk in their order. A step is `FILE::NAME`: the function, class or table in which the
reader stands. A file belongs to a walk where the next step cannot be found without it (it passes data on, or decides where
they go), and where the followed data take another form. A file does not belong to a walk if it only does what its name in
the caller says: it reads or writes bytes, keeps results, groups, waits, reports, refuses. Libraries do not belong to a walk.

A room is a file, however often it is opened. A climb is a step from one file back into a file that was opened before.

A file that no earlier file of the walk imports is reached by a text that both files have, such as a URL, a key of JSON
or a name: `FILE::NAME by TEXT`.
"""

import ast
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx

from tests.structure.imports import Function, arrows, modules_of

WALKS = Path(__file__).with_name("walks.toml")
#: The steps of the same walks at commit 37785a7, by the same rule.
BEFORE = Path(__file__).with_name("walks_37785a7.toml")
_IMPORT = re.compile(r"""(?:from|^import)\s+["'](\.[^"']+)["']""", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A file, the name in it at which the reader stands, and the text that leads to the file where no import does."""

    file: str
    name: str
    by: str = ""

    @classmethod
    def parse(cls, text: str) -> "Step":
        """The step that is written `FILE::NAME` or `FILE::NAME by TEXT`."""
        place, _, by = text.partition(" by ")
        file, _, name = place.partition("::")
        return cls(file, name, by)

    def __str__(self) -> str:
        return f"{self.file}::{self.name}" + (f" by {self.by}" if self.by else "")


@dataclass(frozen=True)
class Walk:
    """The steps of a walk.

    Attributes
    ----------
    name, about
        Name of the walk, and what the program does on it.
    target
        Most rooms that the walk may have.
    by_hand, before
        Rooms of the walk at commit 37785a7: counted by hand, and by the rule of this module.
    """

    name: str
    about: str
    target: int
    by_hand: int
    before: int
    steps: Sequence[Step]

    @property
    def rooms(self) -> list[str]:
        """The files that are opened, each once, in the order of the first visit."""
        return list(dict.fromkeys(step.file for step in self.steps))

    @property
    def climbs(self) -> int:
        """Steps from one file back into a file that was visited before."""
        files = [step.file for step in self.steps]
        return sum(files[place] != files[place - 1] and files[place] in files[:place] for place in range(1, len(files)))


def read_walks(path: Path = WALKS) -> dict[str, Walk]:
    """The walks of a file by their names."""
    every = tomllib.loads(path.read_text("utf-8"))
    before = tomllib.loads(BEFORE.read_text("utf-8"))
    return {
        name: Walk(
            name,
            walk["about"],
            walk["target"],
            walk["by_hand"],
            len({Step.parse(step).file for step in before[name]}),
            list(map(Step.parse, walk["steps"])),
        )
        for name, walk in every.items()
    }


def table(walks: Collection[Walk]) -> str:
    """The rooms and climbs of walks, in Markdown."""
    rows = [
        f"| {walk.name} | {walk.by_hand} | {walk.before} | {len(walk.rooms)} | {walk.target} | {walk.climbs} |"
        for walk in walks
    ]
    titles = ("walk", "rooms at 37785a7, by hand", "by the same rule", "rooms", "at most", "climbs")
    return "\n".join([f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *rows])


def listing(walk: Walk) -> str:
    """The steps of a walk, each with the number of its room."""
    numbers = {file: number for number, file in enumerate(walk.rooms, 1)}
    return "\n".join([f"{walk.name}: {walk.about}", *(f"{numbers[step.file]:3} {step}" for step in walk.steps)])


def missing(walk: Walk, root: Path) -> list[str]:
    """The steps whose file or name is not in the tree below `root`."""
    return [str(step) for step in walk.steps if not _is_there(root / step.file, step.name)]


def unlinked(walk: Walk, root: Path) -> list[str]:
    """The steps into a new file that no earlier file of the walk imports, and whose text is not in both files."""
    rooms = walk.rooms
    first = {file: next(step for step in walk.steps if step.file == file) for file in rooms}
    return [
        str(first[file])
        for place, file in enumerate(rooms)
        if place and not _is_reached(first[file], rooms[:place], root)
    ]


def _is_reached(step: Step, earlier: Sequence[str], root: Path) -> bool:
    if step.by:
        return step.by in _text(root / step.file) and any(step.by in _text(root / file) for file in earlier)
    return any(step.file in _imported(root, file) for file in earlier)


@cache
def _imported(root: Path, file: str) -> set[str]:
    """The files that a file imports."""
    if not file.endswith(".py"):
        folder = (root / file).parent
        found = [(folder / name).resolve() for name in _IMPORT.findall(_text(root / file))]
        return {str(path.relative_to(root.resolve())) for path in found}
    names, graph = _python(root)
    return {file_of for module, file_of in names.items() if graph.has_edge(_module(names, file), module)}


@cache
def _python(root: Path) -> tuple[dict[str, str], nx.DiGraph]:
    modules = modules_of(root)
    return {name: str(path.relative_to(root)) for name, path in modules.items()}, arrows(modules)


def _module(names: dict[str, str], file: str) -> str:
    return next(name for name, own in names.items() if own == file)


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _is_there(path: Path, name: str) -> bool:
    if path.suffix == ".py":
        return name in set(_names(ast.parse(_text(path))))
    return all(_of_script(part).search(_text(path)) for part in name.split("."))


def _of_script(name: str) -> re.Pattern[str]:
    """A declaration of a function, class, constant or method in JavaScript."""
    declared = rf"^ *(?:export )?(?:async )?(?:function|class|const|let) {name}\b"
    return re.compile(rf"{declared}|^ *(?:async |get )?{name}\(.*\) \{{$|^window\.{name} =", re.MULTILINE)


def _names(tree: ast.Module) -> Iterator[str]:
    """Names of all functions and classes, of methods with their class, and of variables that a module assigns."""
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{member.name}" for member in node.body if isinstance(member, Function))
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name))
