"""Controls of a page, each of which writes one field of the link; the (i) that explains a choice; and the ruler of a long sentence,
a strip of all its tokens or words with the window on it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.ui.markup import FOLLOWED, BrowserComponent
from dashboard.web.state import LinkState, Within
from store import STATISTICS
from store.schema.model import RATIOS, Statistic
from store.schema.pictures import NORMALIZATIONS, PROJECTIONS, ViewName
from store.text import WINDOW, Window

#: Attributes of a choice among words, names or numbers of the data: no browser translates its options and chosen values.
OF_DATA: Any = {"attributes": {name: {"translate": "no"} for name in ("option", "pill")}}
#: Kinds of match of a search -> their titles.
MATCHES = {"token": "token", "prefix": "prefix", "phrase": "phrase", "lemma": "lemma"}
#: Attribute of a button that opens Help or the tour, by the id of the dialog (assets/web/keyboard.mjs).
OPENS = "data-help"
_ABOUT = (
    f"A long sentence is shown in windows of {WINDOW} tokens. The strip is the whole sentence; the darker a part of a strip of keys, the "
    "more attention the shown queries give it. Click a place to show it; arrow keys move by a quarter of a window, Page Up and Page Down "
    "by a window, Home and End to the ends. Every weight is of the softmax over the whole sentence."
)


def tour_button(written: str) -> html.Button:
    """A button that opens the tour."""
    opens: Any = {OPENS: "tour", "aria-haspopup": "dialog"}
    return html.Button(written, type="button", className="link", **opens)


def info(name: str, text: str) -> html.Button:
    """An (i) that shows a text on click, hover and focus, until Escape (assets/web/popover.mjs)."""
    described: dict[str, Any] = {"aria-label": f"About {name}", "data-info": text}
    return html.Button("i", type="button", className="info", **described)


def control_rows(*rows: Any) -> list[Any]:
    """Rows of many controls; a narrow window shows the first row, and the others when its reader opens them."""
    more = html.Details(html.Summary("All controls"), className="more-controls")
    return [html.Div([*rows], className="control-rows"), more]


def action(content: Any, href: str, *, title: str | None = None, look: str = "action") -> html.Button:
    """A button that changes what this page shows: the browser goes to the link of the changed page (assets/web/markup.mjs)."""
    described: dict[str, Any] = {"data-href": href} | ({"title": title} if title else {})
    return html.Button(content, type="button", className=look, **described)


def sorting_title(title: str, href: str, what: str, kind: str = "number", *, is_sorted: bool) -> html.Th:
    """The title of a column, a button that sorts the table by it; `what` says so, and `kind` is the class of the cell."""
    sorted_by = {"aria-sort": "descending"} if is_sorted else {}
    return html.Th(action(title, href, title=f"Sort by {what}", look="sort"), className=kind, **sorted_by)


def neighbour(arrow: str, title: str, href: str) -> html.A:
    """A link with an arrow to the neighbour of the shown sentence or item."""
    named: Any = {"title": title, "aria-label": title, FOLLOWED: ""}
    return html.A(arrow, href=href, className="neighbour", **named)


def other_sentences(own: int, count: int, href: Callable[[int], str]) -> html.Nav:
    """Links to the sentence before, the one after and a random one of `count` sentences."""
    links = [
        neighbour("←", "previous sentence", href((own - 1) % count)),
        neighbour("→", "next sentence", href((own + 1) % count)),
        neighbour("↻", "a random sentence", href(random_sentence(own, count))),
    ]
    named: Any = {"aria-label": "Other sentences"}
    return html.Nav(links, className="neighbours", **named)


def random_sentence(own: int, count: int) -> int:
    """Another sentence, one stride further: strides reach each of `count` sentences before they repeat one.

    The corpus is in the order of hashes: a stride is as random as a draw, and a page is the same for every reader.
    """
    golden = round(count * 0.618)
    stride = next(step for step in range(golden, 2 * count + 1) if gcd(step, count) == 1)
    return (own + stride) % count


def statistic_info(statistic: str, ratios: Mapping[str, Statistic] = RATIOS) -> html.Button:
    """The (i) of a statistic or of one of the mixing ratios: its meaning, its formula and its paper."""
    known = STATISTICS.get(statistic) or ratios[statistic]
    return info(known.title, f"{known.meaning} {known.formula} ({known.paper}).")


def normalization_info(normalization: str) -> html.Button:
    """The (i) of a normalisation of queries and keys."""
    return info(f"normalisation {normalization}", f"{normalization}: {NORMALIZATIONS[normalization]}.")


def explained(control: object, about: html.Button) -> html.Div:
    """A control with the (i) of its chosen value."""
    return html.Div([control, about], className="explained")


def control_group(title: str, controls: Iterable[Any]) -> html.Fieldset:
    """Controls that belong together, below a title that a screen reader says as the name of the group."""
    return html.Fieldset(
        [html.Legend(title), html.Div(list(controls), className="controls")], className="control-group"
    )


def choice(
    field: str,
    label: str,
    options: Mapping[str, str],
    value: str,
    width: int,
    by: str = "control",
    *,
    disabled: bool = False,
    of_data: bool = False,
) -> dmc.Select:
    """A choice among a few values of a field of the link."""
    data = [{"value": option, "label": title} for option, title in options.items()]
    return dmc.Select(
        id={"choose": field, "by": by},
        label=label,
        data=data,
        value=value,
        size="xs",
        w=width,
        disabled=disabled,
        allowDeselect=False,
        searchable=len(data) > 12,
        clearSearchOnFocus=True,  # else typed letters are appended to the chosen title, and the search finds nothing
        maxDropdownHeight=420,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
        **(OF_DATA if of_data else {}),
    )


def switch(field: str, label: str, on: bool) -> dmc.Switch:
    """A field of the link that is on or off; the table of fields (`dashboard.web.state`) has its value when on."""
    return dmc.Switch(id={"toggle": field, "by": "control"}, label=label, checked=on, size="xs", className="switch")


def text_input(field: str, label: str, placeholder: str, value: str | None, width: int) -> dmc.TextInput:
    """A field for a typed text, which counts at Enter or when the field loses the focus."""
    return dmc.TextInput(
        id={"choose": field, "by": "own"},
        label=label,
        placeholder=placeholder,
        value=value or "",
        debounce=True,
        size="xs",
        w=width,
    )


def number(
    field: str, label: str, value: float | None, low: float, high: float, step: float, **options: Any
) -> dmc.NumberInput:
    """A field for a number of the link, empty without a value; `options` are properties of the control."""
    return dmc.NumberInput(
        id={"choose": field, "by": "number"},
        label=label,
        value="" if value is None else value,
        min=low,
        max=high,
        step=step,
        size="xs",
        w=104,
        debounce=600,  # a redraw during typing would remove letters; steps by the arrows wait too
        decimalSeparator=".",
        allowedDecimalSeparators=[".", ","],  # many readers write a comma; without it 0,3 became 03
        **options,
    )


def head_choices(state: LinkState, layers: int, heads: int) -> list[object]:
    """Choices of layer and head, on a page that shows all heads."""
    of_layer, of_head = ({str(index): str(index) for index in range(count)} for count in (layers, heads))
    return [
        choice("layer", "Layer", of_layer, str(state.layer), 70, by="heads", of_data=True),
        choice("head", "Head", of_head, str(state.head), 70, by="heads", of_data=True),
    ]


def statistic_choice(field: str, label: str, options: Mapping[str, str], value: str, width: int) -> html.Div:
    """A choice of a statistic, with the (i) of the chosen one."""
    return explained(choice(field, label, options, value, width), statistic_info(value))


def search_controls(state: LinkState, matched: Iterable[Within]) -> html.Div:
    """The field of a search, and the choice of its kind of match."""
    matches = {match: MATCHES[match] for match in matched}
    return html.Div(
        [_search_box(state.q), choice("within", "Match", matches, state.within, 108)],
        className="controls search",
    )


def _search_box(q: str | None) -> dmc.TextInput:
    return dmc.TextInput(
        id={"choose": "q", "by": "search"},
        label="Search",
        placeholder="movie, then Enter",
        value=q or "",
        debounce=True,  # at Enter or when the field loses the focus: a redraw during typing would remove letters
        size="xs",
        w=130,
    )


def view_choices(view: str, views: list[str]) -> list[object]:
    """Choices of projection, normalisation and dimensions; every option is the existing view that is most similar to the shown one."""
    shown = ViewName.parse(view)
    existing = [ViewName.parse(name) for name in views]

    def part(name: str, label: str, titles: Mapping[Any, str], width: int) -> dmc.Select:
        return choice("view", label, _most_similar(name, titles, shown, existing), str(shown), width, by=name)

    normalization = part("normalization", "Normalisation", {name: name for name in NORMALIZATIONS}, 118)
    return [
        part("projection", "Projection", PROJECTIONS, 165),
        explained(normalization, normalization_info(shown.normalization)),
        part("components", "Dimensions", {2: "2D", 3: "3D"}, 84),
    ]


def _most_similar(part: str, titles: Mapping[Any, str], shown: ViewName, existing: list[ViewName]) -> dict[str, str]:
    """Options of a part of a view's name: for each value the existing view with it that differs least from the shown view -> its title."""
    options = {}
    for value, title in titles.items():
        having = [view for view in existing if getattr(view, part) == value]
        if having:
            options[str(max(having, key=lambda view: _common_parts(view, shown)))] = title
    return options


def _common_parts(view: ViewName, shown: ViewName) -> tuple[bool, ...]:
    return tuple(getattr(view, part) == getattr(shown, part) for part in ("components", "projection", "normalization"))


class TokenRuler(BrowserComponent):
    """The strip of all tokens with the window on it, which a click or a key moves. Its JavaScript is in assets/web/ruler.mjs.

    Parameters
    ----------
    id
        Id of the control of a field, whose value is the first token of the window.
    value
        Value in the link; None where the page chooses the window.
    label
        Name for a screen reader.
    first, size, tokens
        The first token of the window, tokens of a window, and tokens of the sentence.
    shades
        How dark each part of the strip is, 0 to 100, from the first token to the last; empty for a strip of one shade.
    """

    properties = ("id", "value", "label", "first", "size", "tokens", "shades")


def rulers_of(*rows: html.Div) -> html.Div:
    """A block of several rows, each from `ruler`."""
    return html.Div([*rows], className="rulers")


def ruler(
    name: str,
    field: str,
    value: int | None,
    window: Window,
    *text: Any,
    shades: Sequence[int] = (),
    about: bool = True,
) -> html.Div:
    """A strip of all tokens with a text on its window, and an (i); `value` is the value of the link's field."""
    said: list[Any] = [*text, *([" ", info("the windows", _ABOUT)] if about else [])]
    strip = TokenRuler(
        id={"choose": field, "by": "ruler"},
        value=value,
        label=f"{name}: first that is shown",
        first=window.first,
        size=WINDOW,
        tokens=window.tokens,
        shades=list(shades),
    )
    return html.Div([html.Span(name, className="ruler-name"), strip, html.Span(said, className="caption")])
