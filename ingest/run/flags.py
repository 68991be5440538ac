"""Settings as flags: every field of a dataclass of settings is a flag of the command, and is checked as its kind."""

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

from ingest.run.errors import IngestError

T = TypeVar("T")
#: What a person calls a value of each kind, with one as an example.
KINDS: dict[type, str] = {int: "a whole number. Give one, such as 2000", float: "a number. Give one, such as 0.0001"}


def setting(default: Any, explanation: str, kind: type = str) -> Any:
    """A field that `parse_flags` makes a flag."""
    return field(default=default, metadata={"help": explanation, "type": kind})


def parse_flags(settings: type[T], arguments: Sequence[str] | None, *, command: str, description: str) -> T:
    """Settings from command line flags; an empty flag means the default, so that make can pass all of them."""
    parser = argparse.ArgumentParser(prog=command, description=description)
    kinds: dict[str, type] = {}
    for flag in fields(settings):  # type: ignore[arg-type]  # T is a dataclass
        kinds[flag.name] = flag.metadata["type"]
        parser.add_argument(_flag(flag), metavar=flag.name.upper(), help=_explanation(flag))
    values = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value not in (None, "")}
    return settings(**{name: _convert(name, value, kinds[name]) for name, value in values.items()})


def _flag(setting: Field[Any]) -> str:
    return "--" + setting.name.replace("_", "-")


def _explanation(setting: Field[Any]) -> str:
    default = setting.default
    shown = "" if default in (None, MISSING) else f" (default {default})"
    return f"{setting.metadata['help']}{shown}".replace("%", "%%")


def _convert(name: str, value: str, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise IngestError(f"--{name.replace('_', '-')}={value} is not {KINDS[kind]}.") from error
