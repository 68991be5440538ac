"""What is shown of a sentence, in words: for a screen reader, over a saved picture, beside a file."""

from dashboard.sentence.chosen import numbers, showing_of
from dashboard.sentence.shown_pattern import Showing
from dashboard.web.state import Address
from dashboard.web.view import Place
from store.schema import head_name


def title(place: Place) -> str:
    """Which weights, of which heads, in which sentence."""
    whose = "a typed sentence" if place.address.text else f"sentence {place.address.sentence:,}"
    return f"{what(place)} in {whose}"


def what(place: Place) -> str:
    """Which weights, of which heads, such as `Attention of L2 H3`."""
    address, showing = place.address, showing_of(place)
    if address.show == "neuron":
        return f"Attention of {head_name(address.layer, address.head)}"
    if showing.rollout:
        return _of_rollout(address)
    if is_mean(address):
        return f"Mean {_weights(showing)} over {_averaged(address)}"
    return f"{_weights(showing).capitalize()} of {_of(address)}"


def is_mean(address: Address) -> bool:
    """Whether the matrix of a mean is shown."""
    return address.show == "matrix" and address.mean != "none"


def _weights(showing: Showing) -> str:
    return "attention" if showing.weights == "attention" else "attention x length of the value"


def _of_rollout(address: Address) -> str:
    """A rollout is of the mean over the heads already: only a mean over layers is another."""
    if is_mean(address) and address.mean != "heads":
        return "Mean attention rollout over all layers"
    return f"Attention rollout up to {'every layer' if address.show == 'model' else f'layer {address.layer}'}"


def _averaged(address: Address) -> str:
    if address.mean == "layers":
        return f"all layers of head {address.head}"
    return f"{_heads(address) or 'the heads'} of {'all layers' if address.mean == 'both' else f'layer {address.layer}'}"


def _of(address: Address) -> str:
    if address.show == "model":
        return "all layers"
    if address.show != "head":
        return head_name(address.layer, address.head)
    heads = _heads(address)
    return f"{heads} of layer {address.layer}" if heads else f"layer {address.layer}"


def _heads(address: Address) -> str:
    """The chosen heads; empty where all are."""
    chosen = numbers(address.heads)
    return f"head{'s' if len(chosen) > 1 else ''} {', '.join(map(str, chosen))}" if chosen else ""
