"""Folders that a command reads or writes: below a home, without a home, and where another user's file is in the way."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub.constants
import pytest

from headscape.__main__ import main as headscape
from ingest.run import files
from ingest.run.errors import IngestError
from ingest.run.files import (
    COMPILED,
    CONVERTED,
    check_folders,
    is_writable,
    own_temporary_folder,
    place_compiled_code,
)
from ingest.text.table import cache_folder

#: A path at which nobody can make a file, not even root.
NOWHERE = Path("/proc/1/nowhere")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, changed to one of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the home a folder that cannot be made."""
    monkeypatch.setenv("HOME", str(NOWHERE))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.fixture
def hub_folders(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that sets the folders of the hub's client, by names of its constants, which it reads when it is imported."""

    def hub_folders(**places: Path) -> None:
        for name, place in places.items():
            monkeypatch.setattr(huggingface_hub.constants, name, str(place))

    return hub_folders


def test_a_file_in_place_of_a_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert [
        is_writable(place) for place in (tmp_path / "a" / "b", tmp_path / "file", tmp_path / "file" / "b", NOWHERE)
    ] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.usefixtures("homeless")
def test_compiled_code_is_kept_in_a_temporary_folder_without_a_home(temporary: Path) -> None:
    environment: dict[str, str] = {}
    place_compiled_code(environment, beside=[NOWHERE])
    assert environment == {COMPILED: str(temporary / f"headscape-{os.getuid()}" / "numba")}


@pytest.mark.usefixtures("homeless")
def test_a_cache_of_numba_that_can_be_written_stays(temporary: Path) -> None:
    for environment in ({COMPILED: str(temporary)}, {COMPILED: str(temporary / "new")}):
        before = dict(environment)
        place_compiled_code(environment, beside=[NOWHERE])
        assert environment == before


def test_a_cache_of_numba_that_cannot_be_written_is_moved(temporary: Path) -> None:
    environment = {COMPILED: str(NOWHERE)}
    place_compiled_code(environment)
    assert environment[COMPILED].startswith(str(temporary))


def test_a_home_that_can_be_written_is_left_to_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment: dict[str, str] = {}
    place_compiled_code(environment, beside=[NOWHERE])
    assert environment == {}


def test_code_is_never_kept_where_another_user_could_put_some(temporary: Path) -> None:
    own = own_temporary_folder()
    assert own_temporary_folder() == own == temporary / f"headscape-{os.getuid()}"
    own.chmod(0o777)
    other = own_temporary_folder()
    assert other != own
    assert other.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("temporary")
def test_tables_are_converted_elsewhere_where_the_cache_is_a_file(
    tmp_path: Path, hub_folders: Callable[..., None]
) -> None:
    hub_folders(HF_HOME=tmp_path / "home")
    asked = tmp_path / "home" / "headscape"
    assert cache_folder() == asked
    asked.rmdir()
    asked.touch()
    assert cache_folder() == own_temporary_folder() / "tables"
    assert cache_folder().is_dir()


def test_what_must_be_downloaded_needs_a_cache(hub_folders: Callable[..., None], tmp_path: Path) -> None:
    hub_folders(HF_HUB_CACHE=NOWHERE)
    check_folders(None, "--store", model="embedded", data=str(tmp_path))
    for missing in ("no-such-file.csv", "some/reviews.JSONL.gz", "some/dev.v4_gold_conll"):
        check_folders(None, "--store", model="embedded", data=missing)  # refused later, as a file
    of_hub = [("bert-base-uncased", "embedded"), ("BAAI/bge-base-en-v1.5", "embedded"), ("BAAI/bge.base", "embedded")]
    for model, data in (*of_hub, ("embedded", "owner/name.v2"), ("embedded", "owner/name.v2:all@main")):
        with pytest.raises(
            IngestError, match=r"The cache /proc/1/nowhere cannot be written\. Give another folder in HF_HOME\."
        ):
            check_folders(None, "--store", model=model, data=data)


def test_data_of_the_hub_is_converted_elsewhere_where_its_folder_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
    hub_folders: Callable[..., None],
    temporary: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hub_folders(HF_HUB_CACHE=temporary, HF_HOME=NOWHERE)
    monkeypatch.setenv(COMPILED, str(temporary))
    monkeypatch.setenv(CONVERTED, "")
    check_folders(None, "--store", model="embedded", data="embedded")
    assert os.environ[CONVERTED] == ""
    check_folders(None, "--store", model="embedded", data="someone/reviews")
    place = f"{temporary}/headscape-{os.getuid()}/datasets"
    assert os.environ[CONVERTED] == place
    assert capsys.readouterr().out == f"No cache of datasets can be written: what it converts is kept in {place}.\n"


def test_a_model_or_data_in_a_cache_that_is_read_only_is_used(
    monkeypatch: pytest.MonkeyPatch, hub_folders: Callable[..., None], tmp_path: Path
) -> None:
    hub_folders(HF_HUB_CACHE=tmp_path)
    for moved in (COMPILED, CONVERTED):  # restored after the test
        monkeypatch.setenv(moved, "")
    for kept in ("models--bert-base-uncased", "datasets--nyu-mll--glue"):
        (tmp_path / kept).mkdir()
    monkeypatch.setattr(files, "is_writable", lambda _: False)
    for revision in ("", "@main", f"@{'a' * 40}"):
        check_folders(None, "--store", model=f"bert-base-uncased{revision}", data="embedded")
        for data in ("nyu-mll/glue", "nyu-mll/glue:sst2"):
            check_folders(None, "--store", model="embedded", data=f"{data}{revision}")


def test_a_store_that_cannot_be_written_is_refused_before_torch_is_imported(
    complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ingest.pipeline", None)  # so that its import fails
    sentence = complaint(store=NOWHERE / "store")
    assert sentence == f"{NOWHERE}/store cannot be written. Choose another place with --store=..."


def test_the_home_of_a_user_may_stand_in_every_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    given: list[str] = []
    monkeypatch.setitem(sys.modules, "ingest.__main__", SimpleNamespace(main=lambda flags: given.extend(flags) or 0))
    assert headscape(["ingest", "--data=~/reviews.csv", "--out", "x", "--text=a~", "--model=~nobody-here/x"]) == 0
    assert given == [f"--data={tmp_path}/reviews.csv", "--out", "x", "--text=a~", "--model=~nobody-here/x"]
