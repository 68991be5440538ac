"""What the canvas is asked to draw of the feature points: the URLs of its parts."""

from dataclasses import replace

from dashboard.canvas.spec import ChosenPoint, FileSource, Headings, LinkFields, Panel, Picture, RowHeading, Step
from dashboard.features.captions import focus_caption, headline, panel_texts
from dashboard.features.data import ROLES, Series, token_set_title
from dashboard.features.shown import ShownFeatures
from dashboard.features.token import NEAR
from dashboard.ui.theme import ramp
from store.phrases import many
from store.schema.features import POINT_KINDS, point_kind

PAGE = "features"
#: The title of what comes before the layers.
INPUT = "input"


def features_picture(shown: ShownFeatures) -> Picture:
    """All panels, or the large one with the way through all of them."""
    return _grid(shown) if shown.panel is None else _large(shown, shown.panel)


def _grid(shown: ShownFeatures) -> Picture:
    series = shown.series
    columns, slots = series.grid
    trust = series.trustworthiness(shown.view)
    panels = [
        Panel(name=title, summary=f"trustworthiness {value:.2f}", fields={"point": name})
        for name, title, value in zip(series.names, series.titles, trust.tolist(), strict=True)
    ]
    label = f"{many(shown.tokens, 'token')} of {token_set_title(series.features.name)} {_panels(series)}"
    return replace(_picture(shown, panels, columns, label), slots=slots, titled=True, headings=_headings(series))


def _headings(series: Series) -> Headings | None:
    """The way through the model: layers from left to right, within each from top to bottom."""
    if series.layer is not None:
        return None
    columns, slots = series.grid
    rows: dict[int, str] = {}
    for name, slot in zip(series.names, slots, strict=True):
        known = POINT_KINDS[point_kind(name)]
        row, column = divmod(slot, columns)
        named = f"{known.title} · {known.stage}" if column else known.title
        rows.setdefault(row * columns + min(column, 1), f"↓ {named}" if row else named)
    above = [INPUT, *(f"L{layer}" for layer in range(columns - 1))]
    return Headings(above=above, rows=[RowHeading(slot=slot, name=rows[slot]) for slot in sorted(rows)])


def _panels(series: Series) -> str:
    count = len(series.names)
    return (
        f"at {many(count, 'feature point')}"
        if series.layer is None
        else f"by the values of {many(count, 'head')} in layer {series.layer}"
    )


def _large(shown: ShownFeatures, panel: str) -> Picture:
    series, state = shown.series, shown.context.state
    token = None if state.ftoken is None or state.ftoken >= shown.tokens else state.ftoken
    title = series.titles[series.index(panel)]
    where = f"{series}/{shown.view}/{panel}"
    return replace(
        _picture(shown, [Panel(name=title)], 1, f"{headline(shown)}{title}"),
        sequence=[_step(shown, *names) for names in zip(series.names, series.titles, strict=True)],
        labels=f"{shown.base}/tokens.json" if state.labels else None,
        card=f"{shown.base}/card/",
        chosen=None if token is None else ChosenPoint(token=token, role=ROLES[0]),
        focus=None if token is None else f"{shown.base}/focus/{where}/{token}.json?near={NEAR}",
        focus_caption=None if token is None else focus_caption(shown, token),
        lasso=state.flasso,
        region=f"{series},{shown.view},{panel}",
    )


def _step(shown: ShownFeatures, name: str, title: str) -> Step:
    """One of the panels through which the tokens move."""
    return Step(
        name=title,
        points=_points(shown, name),
        fields={"point": name},
        label=f"{headline(shown)}{title}",
        texts=panel_texts(shown, name),
    )


def _picture(shown: ShownFeatures, panels: list[Panel], columns: int, label: str) -> Picture:
    """What both kinds have in common."""
    series, state, column = shown.series, shown.context.state, shown.colour.column
    where = shown.panel or "grid"
    return Picture(
        panels=panels,
        columns=columns,
        label=label,
        roles=ROLES,
        dimensions=2,
        points=_points(shown, where),
        raster=f"{shown.base}/raster/{series}/{shown.view}/{where}.png?tokens={shown.tokens}",
        colours=shown.colours,
        ramp=ramp(column.kind, ROLES),
        mask=f"{shown.base}/mask.bin?tokens={shown.tokens}{shown.query}" if shown.selection else None,
        at=state.at,
        file=FileSource.of(shown.context, shown.selection.fields),
        page=PAGE,
        after=shown.base,
        dropped_fields=("point",),
        link_fields=LinkFields(token="ftoken", lasso="flasso"),
    )


def _points(shown: ShownFeatures, where: str) -> str:
    return f"{shown.base}/points/{shown.series}/{shown.view}/{where}.bin?tokens={shown.tokens}"
