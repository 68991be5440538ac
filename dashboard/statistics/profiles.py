"""How far heads look: every layer's mean profile, and one head's."""

from dash import html

from dashboard.statistics.layer_profile import layer_profile
from dashboard.statistics.profile import profile
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href
from dashboard.web.view import Place
from store.schema.model import head_name
from store.wording import many


def profiles(place: Place) -> list[object]:
    """Both figures."""
    shares = place.corpus.head_profile
    layers = shares.mean("head").transpose("offset", "layer").values
    offsets = shares.offset.values.tolist()
    drawn = chart(
        layer_profile(offsets, layers),
        of="profile-layers",
        says="The whole corpus. < and > are all keys farther than 10 tokens. ",
        label="Attention by distance, mean of each layer",
        height=300,
        turns=True,
    )
    return [
        html.Div([html.H3("Mean of each layer"), *drawn], className="figure"),
        html.Div([html.H3(_name(place)), *head_profile(place, height=300)], className="figure"),
    ]


def head_profile(place: Place, *, height: int) -> list[object]:
    """The figure of the link's head."""
    address, name = place.address, _name(place)
    shares = place.corpus.head_profile.sel(layer=address.layer)
    own = shares.sel(head=address.head).values
    drawn = profile(shares.offset.values.tolist(), own, shares.mean("head").values, name)
    return chart(
        drawn,
        of="profile",
        says=f"Mean over all {many(place.corpus.n_sentences, 'sentence')} of the share of weight at each distance; < and > are farther than 10. ",
        label=f"Attention of {name} by distance",
        data=file_href(place, f"profile/{address.layer}/{address.head}.csv"),
        height=height,
    )


def _name(place: Place) -> str:
    return head_name(place.address.layer, place.address.head)
