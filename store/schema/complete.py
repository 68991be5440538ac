"""Whether a module knows every name of a table of the schema: called at import, so that what is missing is named at once."""

from collections.abc import Collection


def check_complete(module: str, known: Collection[str], table: Collection[str], what: str) -> None:
    """Raise ValueError unless a module knows each name of a table, such as a statistic, and no other."""
    for name in table:
        if name not in known:
            raise ValueError(f"{module} lacks the {what} {name!r}. Add it there as well.")
    for name in known:
        if name not in table:
            raise ValueError(
                f"{module} has the {what} {name!r}, which the schema lacks. Add it in store/schema as well."
            )
