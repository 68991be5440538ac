"""The product's commands, as a shell runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.web.processes import environment
from headscape.__main__ import COMMANDS
from headscape.__main__ import main as headscape

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1]
#: A command in a message, and its flags.
NAMED = re.compile(r"`headscape ([\w-]+)([^`]*)`")


def run(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=at, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["headscape ingest", "ingest", "ingest.finetuning", "dashboard"])
def test_a_command_runs_in_a_folder_that_has_a_store_of_its_own(command: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "__init__.py").write_text("raise ImportError('another package')")
    ended = run("-m", *command.split(), "--help", at=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_dashboard_asks_our_store_in_a_folder_that_has_another(tmp_path: Path) -> None:
    """The dashboard asks in a process of its own."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "__init__.py").touch()
    ended = run("-m", "dashboard", "--store", "nothing", "--port", "0", at=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("dashboard: There is no store at nothing")


def commands_in_messages() -> dict[str, set[str]]:
    """The flags of each command that messages and pages name."""
    flags: dict[str, set[str]] = {}
    for package in ("store", "ingest", "dashboard", "headscape"):
        for path in (HERE / package).rglob("*.py"):
            for command, arguments in NAMED.findall(path.read_text("utf-8")):
                flags.setdefault(command, set()).update(re.findall(r"--[a-z-]+", arguments))
    return flags


def test_messages_name_commands_and_flags_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    named = commands_in_messages()
    assert {"ingest", "projections", "verify", "mend", "describe"} <= named.keys() <= COMMANDS.keys()
    for name, flags in named.items():
        with pytest.raises(SystemExit):
            headscape([name, "--help"])
        assert flags <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out)), name


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_headscape_lists_its_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert headscape(arguments) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name} " in listed for name in COMMANDS)


def test_what_each_command_does_is_listed_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    headscape([])
    listed = capsys.readouterr().out
    before = [listed[: listed.index(command.explanation)] for command in COMMANDS.values()]
    assert len({len(each) - each.rindex("\n") for each in before}) == 1


def test_an_unknown_command_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert headscape(["server"]) == 2
    refused = capsys.readouterr().err
    assert refused.startswith("headscape: There is no command 'server'. Give one of ingest, ")
    assert refused.count("\n") == 1


def test_a_folder_whose_name_is_not_utf_8_is_escaped(
    tiny_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in the locale en_US.UTF-8
    place = os.fsdecode(bytes(tmp_path / "caf") + b"\xe9")
    os.symlink(tiny_store, place)
    ended = run("-m", "headscape", "describe", place, at=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"{tmp_path}/caf\\udce9" in ended.stdout


def test_a_started_process_imports_our_packages_and_the_standard_library(tmp_path: Path) -> None:
    """`dashboard` has a folder `statistics`, and Python has a module `statistics`."""
    code = "import statistics, store; print(statistics.mean([1, 3]), store.__file__)"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.stdout == f"2 {HERE / 'store' / '__init__.py'}\n"


def test_a_command_whose_output_nobody_reads_ends_without_a_word(tiny_store: str) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "store", "describe", tiny_store],
        cwd=HERE,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


def made(target: str, *variables: str, shown: str, at: Path) -> str:
    """The output of a target of make, where the code `shown` runs instead of Python."""
    show = at / "show"
    show.write_text(f"#!{sys.executable}\nimport sys\n{shown}")
    show.chmod(0o755)
    ended = subprocess.run(
        ["make", "--silent", "--old-file=install", target, *variables, f"PYTHON={show}"],
        cwd=HERE, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},  # of a `make --jobs=2 check`
    )  # fmt: skip
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.parametrize("name", ["it's.csv", "-a b.csv", 'a"b.csv', "a*;b.csv", "a`b`.csv"])
def test_make_gives_a_name_as_it_was_given(name: str, tmp_path: Path) -> None:
    shown = "print([one for one in sys.argv if one.startswith('--data=')][0])"
    assert made("ingest", f"DATA={name}", shown=shown, at=tmp_path) == f"--data={name}\n"


def test_make_compare_fine_tunes_between_an_ingest_of_the_model_and_one_of_the_result(tmp_path: Path) -> None:
    """The last value counts of a flag that is given twice."""
    chosen = "model", "data", "first", "epochs", "learning-rate", "max-length", "importance", "out"
    shown = (
        "flags = dict(one[2:].split('=') for one in sys.argv[4:])\n"
        f"print(sys.argv[3], *(flags[name] or 'default' for name in {chosen} if name in flags))"
    )
    given = "DATA=reviews.csv", "FIRST=300", "EPOCHS=5", "LEARNING_RATE=2e-5"
    (_, *steps) = made("compare", *given, shown=shown, at=tmp_path).splitlines()
    assert steps == [
        "ingest default reviews.csv default default default",
        "finetune default reviews.csv 300 5 2e-5 128 data/finetuned-short",
        "ingest data/finetuned-short reviews.csv default default 50",
    ]


@pytest.mark.parametrize(
    ("target", "variable", "flag"),
    [
        ("dashboard", "OPEN_TO_ANYBODY", "--open-to-anybody"),
        ("gallery", "CHECK", "--check"),
        ("site", "NO_TEXT", "--no-text"),
    ],
)
def test_make_gives_a_flag_without_a_value_for_a_true_word_alone(
    target: str, variable: str, flag: str, tmp_path: Path
) -> None:
    given = {
        word: made(target, f"{variable}={word}", shown=f"print({flag!r} in sys.argv)", at=tmp_path).strip()
        for word in ("1", "yes", "True", "0", "no", "false", "")
    }
    assert given == dict.fromkeys(("1", "yes", "True"), "True") | dict.fromkeys(("0", "no", "false", ""), "False")


def test_make_names_the_places_of_notes_and_of_a_tree_to_the_server(tmp_path: Path) -> None:
    """An empty flag of notes would hide HEADSCAPE_NOTES."""
    shown = "print([one for one in sys.argv if one.startswith(('--notes', '--headvis'))])"
    assert made("dashboard", shown=shown, at=tmp_path) == "[]\n"
    given = made("dashboard", "NOTES=a b.db", "HEADVIS=a tree", shown=shown, at=tmp_path)
    assert given == "['--notes=a b.db', '--headvis=a tree']\n"
