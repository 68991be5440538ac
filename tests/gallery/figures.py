"""The figures in the sentences of the gallery, read from a store as the pages read them."""

from collections.abc import Callable, Mapping

from dashboard.head_map.clusters import head_clusters
from dashboard.overview.evidence import heads_on_sinks, read_spearman
from dashboard.relations.data import best_of
from dashboard.roles.shares import known_shares
from dashboard.ui.text import decimal
from store import Corpus
from store.schema.model import head_name

#: Formatted figures by their names in a sentence.
Figures = Mapping[str, str]
Read = Callable[[Corpus], Figures]


def roles_found(corpus: Corpus) -> Figures:
    """Number of heads in which a test finds a role, and of all heads."""
    shares = known_shares(corpus)
    found = 0 if shares is None else int(shares.found.any(axis=0).sum())
    return {"found": str(found), "heads": str(corpus.layers * corpus.heads)}


def of_all_heads(corpus: Corpus) -> Figures:
    """Number of heads, and mean Spearman correlation of distance and attention in their pictures."""
    spearman = float(read_spearman(corpus, corpus.views[0]).mean())
    return {"heads": str(corpus.layers * corpus.heads), "spearman": decimal(spearman)}


def role(name: str, layer: int, head: int) -> Read:
    """Share of a head's attention that a role explains, and the attention of its words as a multiple of an average word's."""

    def read(corpus: Corpus) -> Figures:
        share = float(corpus.roles.share.sel(role=name, layer=layer, head=head))
        times = float(corpus.role_tests.bias.sel(role=name, layer=layer, head=head))
        return {"head": head_name(layer, head), "share": f"{share:.0%}", "times": decimal(times, 1)}

    return read


def on_sinks(corpus: Corpus) -> Figures:
    """The largest and the smallest share of attention that a head gives to sinks, and how many heads give more than half."""
    to_sink = corpus.head_statistic.sel(source="all", statistic="to_sink").values
    layer, head = divmod(int(to_sink.argmax()), corpus.heads)
    return {
        "head": head_name(layer, head),
        "most": f"{to_sink.max():.0%}",
        "least": f"{to_sink.min():.0%}",
        "many": str(heads_on_sinks(corpus)),
    }


def relation(name: str) -> Read:
    """The best head of a relation: shares of the held-out pairs that the head links, and that a fixed offset finds."""

    def read(corpus: Corpus) -> Figures:
        best = next(best for best in best_of(corpus) if best.relation == name)
        return {
            "head": head_name(best.layer, best.head),
            "accuracy": f"{best.accuracy:.0%}",
            "offset": f"{best.offset_accuracy:.0%}",
        }

    return read


def of_places(corpus: Corpus) -> Figures:
    """Numbers of drawn tokens and of feature points, and the variance that the token explains at both ends of the model."""
    features = corpus.features("sample")
    explained = features.explained.sel(factor="token").values
    return {
        "tokens": f"{features.n_tokens:,}",
        "places": str(len(explained)),
        "first": f"{explained[0]:.0%}",
        "last": f"{explained[-1]:.0%}",
    }


def alike_heads(corpus: Corpus) -> Figures:
    """Number of groups on the map of heads, and the name of the largest group with a name."""
    named = [group for group in head_clusters(corpus) if group.name]
    return {"groups": str(len(head_clusters(corpus))), "name": named[0].name if named else "none"}


def made_of(corpus: Corpus) -> Figures:
    """The wordpiece with the largest part of a sentence's vector, this part, and its attention; both over an even share."""
    reach = corpus.reach_by("wordpiece", "sentence", layer=corpus.layers - 1).isel(layer=0)
    most = reach.isel(category=int(reach.reach.values.argmax()))
    return {
        "token": str(most.category.values),
        "reach": decimal(float(most.reach), 1),
        "received": decimal(float(most.received), 1),
    }


def from_cls(corpus: Corpus) -> Figures:
    """How much of a token's vector comes from [CLS] after the last layer, with norms and by attention weights alone."""
    shares = corpus.mixing.arrival.sel(source="all", origin="cls").isel(layer=-1)
    return {
        "arrives": f"{float(shares.sel(approach='globenc')):.0%}",
        "attention": f"{float(shares.sel(approach='rollout')):.0%}",
    }
