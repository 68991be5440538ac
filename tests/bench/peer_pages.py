"""`python peer_pages.py VIEW ATTENTION.npz PAGE.html`: a peer's view of all heads as a page. Run by the peer's own Python."""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: Bytes of memory for a peer, which gets a MemoryError beyond; without the limit the machine itself could fail.
MEMORY_LIMIT = 16 * 2**30

Draw = Callable[[np.ndarray, list[str]], str]


def bertviz_head_view(attention: np.ndarray, tokens: list[str]) -> str:
    """BertViz's head view: one layer at a time, its heads on top of each other, and a menu of layers."""
    import torch
    from bertviz import head_view

    return head_view([torch.from_numpy(layer)[None] for layer in attention], tokens, html_action="return").data


def bertviz_model_view(attention: np.ndarray, tokens: list[str]) -> str:
    """All heads as thumbnails."""
    import torch
    from bertviz import model_view

    return model_view([torch.from_numpy(layer)[None] for layer in attention], tokens, html_action="return").data


def inspectus_default(attention: np.ndarray, tokens: list[str]) -> str:
    """Inspectus as it opens: the sum of the attention over all heads."""
    return _inspectus(attention, tokens, None)


def inspectus_line_grid(attention: np.ndarray, tokens: list[str]) -> str:
    """All heads as thumbnails, once the reader has chosen layer and head as its two dimensions."""
    return _inspectus(attention, tokens, ["line_grid"])


def _inspectus(attention: np.ndarray, tokens: list[str], charts: list[str] | None) -> str:
    import inspectus
    from IPython import display

    shown: list[str] = []
    display.display = lambda page: shown.append(page.data)  # the only way to its HTML
    inspectus.attention(attention, tokens, chart_types=charts)
    return "".join(shown)


def circuitsvis_attention_heads(attention: np.ndarray, tokens: list[str]) -> str:
    """All heads as thumbnails, and one large."""
    from circuitsvis.attention import attention_heads

    heads = attention.reshape(-1, *attention.shape[2:])
    return attention_heads(heads, tokens, mask_upper_tri=False).local_src


VIEWS: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        bertviz_head_view,
        bertviz_model_view,
        inspectus_default,
        inspectus_line_grid,
        circuitsvis_attention_heads,
    )
}


def main(view: str, source: str, page: str) -> None:
    """Write the page of a peer's view of the attention in a file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    with np.load(source) as arrays:
        attention, tokens = arrays["attention"], [str(token) for token in arrays["tokens"]]
    body = VIEWS[view](attention, tokens)
    with Path(page).open("w", encoding="utf-8") as file:
        file.write('<!doctype html><meta charset="utf-8"><body>')
        file.write(body)


if __name__ == "__main__":
    main(*sys.argv[1:])
