"""Packages of spaCy pipelines, as `spacy package` makes them, whole and broken."""

import json
from pathlib import Path
from typing import Any

META = {"lang": "xx", "version": "1.0.0", "spacy_version": ">=3.8.0,<3.9.0", "performance": {}}
CODE = """from spacy.util import load_model_from_init_py


def load(**overrides):
    return load_model_from_init_py(__file__, **overrides)
"""


def write_pipeline(
    folder: Path, name: str, *, installed: bool = True, factory: str | None = None, meta: dict[str, Any] | None = None
) -> str:
    """Write a pipeline that splits words alone to a folder of `sys.path`; pip knows an `installed` one. Returns its package.

    Its configuration has a component of `factory`; `meta` replaces all of its meta.json.
    """
    import spacy

    package = f"xx_{name}"
    data = folder / package / f"{package}-1.0.0"
    data.parent.mkdir()
    pipeline = spacy.blank("xx")
    pipeline.meta.update({"name": name, "version": "1.0.0"})
    pipeline.to_disk(data)
    if factory:
        config = (data / "config.cfg").read_text("utf-8").replace("pipeline = []", f'pipeline = ["{factory}"]')
        added = f'[components]\n\n[components.{factory}]\nfactory = "{factory}"\n'
        (data / "config.cfg").write_text(config.replace("[components]\n", added), "utf-8")
    (folder / package / "__init__.py").write_text(CODE)
    (folder / package / "meta.json").write_text(json.dumps({"name": name, **META} if meta is None else meta))
    if installed:
        known = folder / f"{package}-1.0.0.dist-info"
        known.mkdir()
        (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0.0\n")
    return package
