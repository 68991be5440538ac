"""Headscape's packages have plain names, which a file or a folder of the reader may have too: which one is imported.

Imports nothing slow, and no package of Headscape: those are what may be hidden.
"""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check_packages(*names: str) -> None:
    """Raise ImportError with the file that hides a package of Headscape.

    A folder without Python's `__init__.py`, such as one of data, is no obstacle: in a clone it hides a package all the
    same, so the package is imported here from its file.
    """
    for name in names:
        spec = _found(name)
        if spec is not None and spec.origin is None:
            _import_own(name)
        elif spec is not None and Path(str(spec.origin)).resolve().parent != ROOT / name:
            raise ImportError(
                f"{spec.origin} hides the package {name!r} of Headscape. Rename it, or start Python in another folder.",
                name=name,
                path=spec.origin,
            )


def _found(name: str) -> ModuleSpec | None:
    """What `import` of the name gives; None where only the module itself knows, which a script has made."""
    try:
        return find_spec(name)
    except ValueError:
        return None


def _import_own(name: str) -> None:
    spec = spec_from_file_location(name, ROOT / name / "__init__.py")
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
