"""The extras: reading a store needs none, and a command whose extra is not installed names the extra."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headscape as headscape_api
from dashboard.__main__ import main as serve
from dashboard.sentence.encoder import Encoder
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.errors import Refusal
from headscape.__main__ import COMMANDS
from headscape.__main__ import main as headscape
from store.process import ExtraMissing, check_installed, missing_packages

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: Modules of packages whose module has another name than the package.
MODULES = {"dash-mantine-components": "dash_mantine_components", "pillow": "PIL", "umap-learn": "umap"}
#: Reads a store while no module of an extra can be imported.
READ = """
import json, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
store, MISSING = sys.argv[1], set(json.loads(sys.argv[2]))
sys.meta_path.insert(0, Missing())
import headscape
from store.__main__ import main
corpus = headscape.open(store)
headscape.show(corpus, 0, 0), headscape.sentence(corpus, 0, 0, 0), corpus.head_statistic, corpus.divergence
main(["verify", store])
"""


#: Lists the flags of every command while no module of an extra can be imported.
HELP = """
import contextlib, io, json, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
MISSING = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Missing())
from headscape.__main__ import COMMANDS, main
ends = {}
for command in COMMANDS:
    sys.argv = ["headscape", command, "--help"]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            ends[command] = end.code
print(json.dumps(ends))
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headscape as installed without an extra: each extra needs a package that is missing."""
    folder = tmp_path / "headscape-0.2.0.dist-info"
    folder.mkdir()
    needed = [f'Requires-Dist: not-installed>=1; extra == "{extra}"' for extra in ("ingest", "dashboard", "notebook")]
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", "Name: headscape", "Version: 0.2.0", *needed]))
    monkeypatch.syspath_prepend(tmp_path)


def distribution_names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\[><=~! ]", requirement)[0] for requirement in requirements]


def modules_of_extras() -> str:
    """Names of the modules that the extras `dashboard` and `ingest` install, as JSON."""
    extras = PROJECT["optional-dependencies"]
    names = {*distribution_names(extras["dashboard"]), *distribution_names(extras["ingest"])}
    # pandas comes with xarray.
    return json.dumps([MODULES.get(name, name.replace("-", "_")) for name in names - {"pandas"}])


@pytest.mark.heavy
def test_every_command_lists_its_flags_without_any_extra() -> None:
    command = [sys.executable, "-c", HELP, modules_of_extras()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout) == dict.fromkeys(COMMANDS, 0)


@pytest.mark.slow
def test_a_store_is_read_without_any_extra(tiny_store: str) -> None:
    command = [sys.executable, "-c", READ, tiny_store, modules_of_extras()]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert " is sound: " in ended.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("ingest", "ingest"),
        ("projections", "ingest"),
        ("finetune", "ingest"),
        ("serve", "dashboard"),
        ("users list", "dashboard"),
        ("notes export -", "dashboard"),
    ],
)
@pytest.mark.usefixtures("bare")
def test_a_command_names_the_extra_it_needs(command: str, extra: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert headscape(command.split()) == 1
    sentence = capsys.readouterr().err
    assert "not-installed is not installed. Install the extra: " in sentence
    assert f"'headscape[{extra}]'" in sentence
    assert sentence.count("\n") == 1


@pytest.mark.usefixtures("bare")
def test_a_widget_names_the_extra_it_needs(tiny_store: str) -> None:
    corpus = headscape_api.open(tiny_store)
    for show in (
        lambda: headscape_api.sentence("embedded", None, "A film."),
        lambda: corpus.show(0, 0),
        lambda: corpus.sentence(0),
        lambda: corpus.heads(),
    ):
        with pytest.raises(ExtraMissing, match=r"^not-installed is not installed. Install .* 'headscape\[notebook\]'"):
            show()


@pytest.mark.usefixtures("bare")
def test_a_server_without_a_model_says_that_nothing_can_be_typed() -> None:
    model = CorpusModel("key", "model", "embedded", "", "", 128, "float32")
    with pytest.raises(Refusal, match="To encode a sentence this server needs PyTorch"):
        Encoder().encode(model, "The film was good.", "", lambda: False)


def test_an_ingest_of_a_tree_that_is_not_installed_says_what_to_do() -> None:
    with pytest.raises(ExtraMissing, match=r"Headscape is not installed, .* Run `pip install '.\[ingest\]'`"):
        check_installed("not-installed")


@pytest.mark.usefixtures("bare")
def test_only_the_packages_of_that_extra_are_missed() -> None:
    assert missing_packages("ingest") == ["not-installed"]
    assert missing_packages("test") == []


def test_the_server_starts_with_its_extra_alone() -> None:
    """The server checks the port before it looks for a store."""
    assert serve(["--port", "99999"]) == 1


def test_every_package_is_typed() -> None:
    assert all((ROOT / package / "py.typed").exists() for package in ("headscape", "store", "ingest", "dashboard"))


def test_every_dependency_has_a_range_and_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.scripts]")[0].split("dependencies = [")[1]
    wanted = [line for line in lines.splitlines() if re.match(r'  "[^"]*[<>=]', line)]
    assert len(wanted) > 25
    assert [line for line in wanted if not re.fullmatch(r'  "[^"]+(==|>=)[^"]+", +# .+', line)] == []


def versions(path: str) -> dict[str, str]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[._]", "-", name.lower()): version for name, version in pins}


def test_the_lock_has_the_versions_of_the_constraints() -> None:
    """The lock leaves out torch, whose builds differ, and uv, which makes the lock."""
    pinned, locked = versions("constraints.txt"), versions("requirements.lock")
    assert {name: version for name, version in pinned.items() if name not in ("torch", "uv")} == locked


def test_every_locked_package_has_a_hash() -> None:
    blocks = re.split(r"\n(?=[a-z])", (ROOT / "requirements.lock").read_text("utf-8"))[1:]
    assert len(blocks) == len(versions("requirements.lock"))
    assert all("--hash=sha256:" in block for block in blocks)
