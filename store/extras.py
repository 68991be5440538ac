"""The extras of the package: which packages of an extra are not installed, and how to install them."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

from store.repository.errors import StoreError


class ExtraMissing(StoreError):
    """A command needs packages of an extra that is not installed."""


def check_extra(extra: str) -> None:
    """Raise ExtraMissing where a package of the extra is not installed."""
    missing = missing_packages(extra)
    if missing:
        raise ExtraMissing(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed. "
            f"Install the extra: pip install 'headscape[{extra}]', or '.[{extra}]' in a clone."
        )


def check_installed() -> None:
    """Raise ExtraMissing where Headscape itself is not installed: what a command writes names the version."""
    if _installed("headscape") is None:
        raise ExtraMissing(
            "Headscape is not installed, so a result could not name its version. Run `pip install '.[ingest]'` in the clone."
        )


def missing_packages(extra: str) -> list[str]:
    """Names of the packages of an extra that are not installed; none where Headscape itself is not."""
    try:
        requirements = [Requirement(text) for text in distribution("headscape").requires or []]
    except PackageNotFoundError:
        return []
    return [
        requirement.name
        for requirement in requirements
        if _is_of(requirement, extra) and _installed(requirement.name) is None
    ]


def _is_of(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
