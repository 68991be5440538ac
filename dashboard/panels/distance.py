from dash import html


def panel(place, _chosen):
    return [html.H2("soon")]
