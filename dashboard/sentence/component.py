"""The Dash component `SentenceViews`: the attention of one sentence, drawn. Its JavaScript is in assets/sentence/."""

from dashboard.ui.component import BrowserComponent


class SentenceViews(BrowserComponent):
    """Lines, thumbnails, a heat map or the channels of one sentence. One instance serves the page.

    Parameters
    ----------
    id
        Dash id.
    sentence
        What is shown, None for nothing. A part whose URL stays is not fetched again:

        - `show`: "head" (lines), "model" (thumbnails of all heads), "matrix" (heat map of a head) or "neuron" (channels)
        - `units` and `keys`: the queries and the keys, `{"name": "the", "positions": [3], "segment": 0, "special": False}`
        - `layers`, `heads`: how many there are; `layer`, `head`: the shown ones; `chosen`: heads whose lines are drawn
        - `queries`: the selected tokens, of the column that `side` says ("query" or "key")
        - `least`: smallest weight that is drawn as a line
        - `layer_url`, `model_url`, `neuron_url`: bytes (HSL1), bytes (HST1) and JSON of what is shown, None where there is none
        - `title`: what it is, for a screen reader and in a saved file
        - `colours`: of the heads by scheme, `{"light": ["#0072B2", ...], "dark": [...]}`
        - `palette`: colours by scheme, `dashboard.ui.theme.PALETTE`
    opened
        Out: a thumbnail was chosen: `{"layer": 2, "head": 3, "count": 1}`.
    headed
        Out: the heads whose lines a reader wants: `{"heads": [0, 3], "count": 1}`.
    selected
        Out: the selected tokens of a column, none for nothing: `{"side": "query", "units": [4, 5], "count": 1}`.
    hidden
        Out: a token to be left out, by the positions of its wordpieces: `{"positions": [4], "count": 1}`.
    stepped
        Out: to the layer below or above: `{"layer": 1, "count": 1}`; -1 is towards the first.
    """

    properties = ("id", "sentence", "opened", "headed", "selected", "hidden", "stepped")
