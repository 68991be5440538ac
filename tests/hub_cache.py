"""A cache with data sets of a hub that is out of reach, and a hub with one model; neither needs a server."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import huggingface_hub
import pyarrow as pa
import pytest

from ingest.run import checkpoint
from tests.hub import COMMIT

if TYPE_CHECKING:
    import datasets


@contextmanager
def cached_data(name: str, **splits: "datasets.Dataset") -> Iterator[None]:
    """A data set in the cache, its splits as `datasets` prepares them."""
    from datasets import config

    namespace, _, title = name.partition("/")
    place = Path(config.HF_DATASETS_CACHE) / f"{namespace}___{title}"
    folder = place / "default" / "0.0.0" / COMMIT
    folder.mkdir(parents=True)
    for split, rows in splits.items():
        write_rows(folder / f"{title}-{split}.arrow", rows)
    known = ", ".join(f'"{split}": {{}}' for split in splits)
    (folder / "dataset_info.json").write_text(f'{{"splits": {{{known}}}}}')
    try:
        yield
    finally:
        shutil.rmtree(place)


def write_rows(path: Path, rows: "datasets.Dataset") -> None:
    """Write rows in the format of the cache, with their features in the schema."""
    table = rows.flatten_indices().data.table.cast(rows.features.arrow_schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


class ModelHub:
    """A hub with one model in a folder, its cache, and the revisions that the hub was asked for."""

    def __init__(self, model: Path, cache: Path) -> None:
        self.model, self.cache = model, cache
        self.asked: list[str | None] = []
        self.is_reached = True

    def download(
        self, _name: str, *, allow_patterns: list[str], revision: str | None = None, local_files_only: bool = False
    ) -> str:
        """Stands for `snapshot_download` of huggingface_hub."""
        folder = self.cache / (revision or COMMIT)
        if not local_files_only:
            self.asked.append(revision)
            if not self.is_reached:
                raise ConnectionResetError("no route")
            folder.mkdir(parents=True, exist_ok=True)
            for file in [file for pattern in allow_patterns for file in self.model.glob(pattern)]:
                shutil.copy(file, folder)
        elif not folder.is_dir():
            raise FileNotFoundError("not in the cache")
        return str(folder)


@pytest.fixture
def model_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    """A hub with the model in the folder `hub`."""
    hub = ModelHub(tmp_path / "hub", tmp_path / "cache")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.download)
    yield hub
    checkpoint._fetched.cache_clear()
