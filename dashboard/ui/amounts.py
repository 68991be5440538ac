"""Numbers with their units, in words."""

from dashboard.statistics.definitions import unit_title


def end_of_range(value: float, unit: str) -> str:
    """An end of a range without its unit: whole numbers without decimals, shares as per cent."""
    if unit == "share":
        return f"{100 * value:.1f}"
    return f"{value:,.0f}" if value % 1 == 0 else f"{value:.2f}"


def span(low: float, high: float, unit: str) -> str:
    """`0 to 127 tokens`, `0.4 to 12.0 %`."""
    return f"{end_of_range(low, unit)} to {end_of_range(high, unit)} {unit_title(unit)}".strip()


def signed(value: float, digits: int) -> str:
    """A difference with its sign; none where it rounds to 0. NaN is empty."""
    rounded = round(value, digits)
    if rounded != rounded:
        return ""
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"
