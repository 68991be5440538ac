"""The README and docs/ say what the code does: flags, fields of links, statistics, code that runs as written."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

from dashboard.web.state import FIELDS, LinkState
from headscape.__main__ import COMMANDS
from ingest.finetuning.settings import FinetuningSettings
from ingest.run.settings import DEFAULT_SENTENCES, Settings
from store.kernels.heads import LABELS
from store.schema.features import LAYER_KINDS
from store.schema.model import RATIOS, SOURCES, STATISTICS
from store.schema.pictures import NORMALIZATIONS, PROJECTIONS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Words of the table of flags in place of a default that is None or long.
SPELLED = {"sentences": str(DEFAULT_SENTENCES), "reviews": "3", "batch": "512", "views": "fourteen views"}


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def rows(page: str) -> dict[str, str]:
    """Rows of the tables of a page: the other cells, by each name in the first cell."""
    tables = re.findall(r"^\| (`[^|]+) \| (.*) \|$", text(page), re.MULTILINE)
    return {name: cells for names, cells in tables for name in re.findall(r"`([^`]+)`", names)}


def section(page: str, heading: str) -> str:
    return text(page).split(f"\n## {heading}\n")[1].split("\n## ")[0]


def anchors(path: Path) -> set[str]:
    """Anchors of a page, as GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        targets = re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8"))
        yield from ((page, link) for link in targets if "://" not in link)


def test_the_readme_has_at_most_six_hundred_words() -> None:
    assert len(text("README.md").split()) <= 600


def prose(page: Path) -> str:
    """The text of a page without its code, commands and formulas."""
    blocks = r"^```.*?^```|^ {4}.*?$|`[^`\n]*`|\$[^$\n]+\$"
    return re.sub(blocks, "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shares_and_negative_numbers_are_spelled_as_on_the_pages(page: Path) -> None:
    """Spelled as by `decimal` and `with_unit` of dashboard/ui/text.py: 95%, and a real minus (U+2212)."""
    misspelled = re.findall(r"\d\s%|(?<![\w.\-−/])-\d[\d.]*", prose(page))
    assert misspelled == []


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert [link for _, link in links()]
    for page, link in links():
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), (page.name, link)
        assert not anchor or anchor in anchors(target), (page.name, link)


BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = [(page.name, code) for page in PAGES for code in BLOCK.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize("code", [code for _, code in EXAMPLES], ids=[name for name, _ in EXAMPLES])
def test_every_example_in_python_runs_as_written(
    code: str, default_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "headscape").symlink_to(default_store)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {})


def test_the_lines_for_a_notebook_are_few() -> None:
    code = text("README.md").split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) == 8


def test_a_section_of_the_changelog_is_read_in_a_minute() -> None:
    sections = re.split(r"^#+ ", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert [section.splitlines()[0] for section in sections if len(section.split()) > 250] == []


def test_the_documentation_has_a_bound() -> None:
    """Words are counted as by `cat README.md docs/*.md | wc -w`."""
    assert sum(len(page.read_text("utf-8").split()) for page in PAGES) <= 15_000


def test_every_variable_of_make_in_an_example_exists() -> None:
    known = set(re.findall(r"^([A-Z_]+) [?:]?=", text("Makefile"), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for line in re.findall(r"^    make .*$", page.read_text("utf-8"), re.MULTILINE)
        for name in re.findall(r" ([A-Z_]+)=", line.split(" #")[0])
    }
    assert {"MODEL", "DATA"} <= named <= known


#: A line of an example that runs the command, perhaps with a variable of the environment before it.
COMMAND = re.compile(r"    (?:\S+=\S+ )?(?:\S*/)?headscape ([a-z-]+)")


def example_commands() -> list[str]:
    """The lines of examples that run the command `headscape`."""
    lines = [line for page in PAGES for line in re.findall(r"^    .*$", page.read_text("utf-8"), re.MULTILINE)]
    return [line.split(" #")[0] for line in lines if COMMAND.match(line)]


def test_every_command_and_flag_in_an_example_exists() -> None:
    sources = [
        path.read_text("utf-8") for name in ("headscape", "dashboard", "store") for path in (ROOT / name).rglob("*.py")
    ]
    known = {flag for source in sources for flag in re.findall(r'"(--[a-z-]+)"', source)}
    known |= {
        f"--{setting.name.replace('_', '-')}" for kind in (Settings, FinetuningSettings) for setting in fields(kind)
    }
    lines = example_commands()
    assert {flag for line in lines for flag in re.findall(r"--[a-z][a-z-]+", line)} <= known
    named = {found[1] for line in lines if (found := COMMAND.match(line))}
    assert {"ingest", "serve"} <= named <= COMMANDS.keys()


def flag_default(setting: Field[Any]) -> str:
    default = "" if setting.default in (None, MISSING) else str(setting.default)
    return SPELLED.get(setting.name, default)


@pytest.mark.parametrize(("settings", "heading"), [(Settings, "Flags"), (FinetuningSettings, "Fine-tuning")])
def test_every_flag_is_explained_with_its_default(settings: type, heading: str) -> None:
    table = dict(re.findall(r"^\| `(--[a-z-]+)` \| (.*?) \|", section("docs/ingest.md", heading), re.MULTILINE))
    flags = {f"--{setting.name.replace('_', '-')}": setting for setting in fields(settings)}
    assert table.keys() == flags.keys()
    if settings is Settings:
        assert {flag: flag_default(setting) in table[flag] for flag, setting in flags.items()} == dict.fromkeys(
            flags, True
        )


def test_every_field_of_a_link_is_explained_with_its_default() -> None:
    explained, defaults = rows("docs/links.md"), LinkState().fields
    assert explained.keys() == defaults.keys()
    for name, default in defaults.items():
        assert default is None or explained[name].startswith(f"`{default}`"), name


def test_every_word_of_a_choice_in_a_link_is_listed() -> None:
    explained = rows("docs/links.md")
    choices = {name: field.bounds for name, field in FIELDS.items() if isinstance(field.bounds, tuple)}
    assert choices
    for name, words in choices.items():
        if set(words) != {*RATIOS} and len(words) <= len(SOURCES):  # statistics and ratios are in statistics.md
            assert [word for word in words if f"`{word}`" not in explained[name]] == [], name


def test_every_statistic_and_ratio_has_its_formula() -> None:
    explained = rows("docs/statistics.md")
    assert explained.keys() == STATISTICS.keys() | RATIOS.keys()
    units = {name: cells.split(" | ")[1] for name, cells in explained.items() if name in STATISTICS}
    assert units == {name: statistic.unit for name, statistic in STATISTICS.items()}


def test_every_label_of_a_head_is_defined() -> None:
    assert all(name in section("docs/statistics.md", "Heads beside heads") for name in LABELS)


def test_every_part_of_the_name_of_a_picture_is_explained() -> None:
    explained = rows("docs/pictures.md")
    assert explained.keys() >= NORMALIZATIONS.keys() | PROJECTIONS.keys()
    points = {f"L00.{kind.title.replace(' ', '_').replace('-', '_')}" for kind in LAYER_KINDS.values()}
    assert points <= explained.keys()


def test_the_glossary_has_at_most_forty_terms() -> None:
    assert 10 < section("docs/architecture.md", "Glossary").count("\n| ") - 2 <= 40


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:`|    )make ([a-z-]+)", page.read_text("utf-8"))}
    assert {"dashboard", "ingest", "test"} <= named <= targets


def test_every_folder_and_module_that_is_named_exists() -> None:
    pattern = r"`((?:store|ingest|dashboard|tests|docs)/[\w./]*)`"
    named = {path for page in PAGES for path in re.findall(pattern, page.read_text("utf-8"))}
    assert len(named) > 10
    assert [path for path in sorted(named) if "NAME" not in path and not (ROOT / path).exists()] == []


def test_the_tree_names_folders_that_exist() -> None:
    tree = text("docs/architecture.md").split("## The tree\n\n```\n")[1].split("```")[0]
    parent = ""
    for line in tree.splitlines():
        names = re.findall(r"[a-z_]+/(?=\s)", line.partition("   ")[0] + " ") or [line.split()[0]]
        parent = parent if line.startswith(" ") else names[0]
        assert all((ROOT / (parent if line.startswith(" ") else "") / name).is_dir() for name in names), line
