"""A corpus as `headscape.open` gives it: labelled arrays, and pictures of them for a notebook."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headscape.figures import default_view
from store import Corpus
from store.process import check_extra
from store.repository.errors import check_head
from store.schema.mixing import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xarray import DataArray

    from dashboard.notebook.widget import Widget


class HeadCount(int):
    """How many heads a layer has. Called, it shows the points of all heads: `corpus.heads()`."""

    corpus: "PicturedCorpus"

    @classmethod
    def of(cls, corpus: "PicturedCorpus", count: int) -> "HeadCount":
        """That of a corpus."""
        counted = cls(count)
        counted.corpus = corpus
        return counted

    def __call__(self, *, view: str | None = None) -> "Widget":
        """The queries and keys of every head, a panel each; a click selects a head. Needs the extra `notebook`.

        Parameters
        ----------
        view
            One of `corpus.views`; None for the most faithful.
        """
        check_extra("notebook")
        from dashboard.notebook.points import heads_widget

        return heads_widget(self.corpus, view=view or default_view(self.corpus))


class PicturedCorpus(Corpus):
    """A `store.Corpus` with widgets: `show(layer, head)`, `heads()` and `sentence(index)`. They need the extra `notebook`."""

    heads: HeadCount

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.heads = HeadCount.of(self, self.heads)

    def show(self, layer: int, head: int, *, view: str | None = None, tokens: int = 2_000) -> "Widget":
        """The queries and keys of a head in one picture: lasso and click select tokens.

        Parameters
        ----------
        layer, head
            0-based.
        view
            One of `corpus.views`; None for the most faithful.
        tokens
            How many of the first tokens to draw: the corpus is in random order, so they are a sample.

        Raises
        ------
        StoreError
            Where there is no such head or view.
        """
        check_extra("notebook")
        check_head(layer, head, layers=self.layers, heads=self.heads)
        from dashboard.notebook.points import head_widget

        return head_widget(self, layer, head, view=view or default_view(self), tokens=tokens)

    def context_mixing(self, sentence: int, method: str = "globenc", *, rolled_out: bool = False) -> "DataArray":
        """As `store.Corpus.context_mixing`; by `alti`, `value_zeroing` or `decompx` with the model, which needs the extra `notebook`.

        These are of the text of the sentence, up to the length that the store was ingested with; DecompX is always of input tokens.
        """
        if method in METHODS:
            return super().context_mixing(sentence, method, rolled_out=rolled_out)
        check_extra("notebook")
        from headscape.arrival import mixing_of_corpus

        return mixing_of_corpus(self, sentence, method, rolled_out=rolled_out)

    def sentence(
        self,
        index: int,
        *,
        show: str = "head",
        layer: int = 0,
        heads: "Sequence[int] | None" = None,
        first: int = 0,
    ) -> "Widget":
        """The attention of all heads in a sentence of the corpus; options as of `headscape.sentence`.

        Raises
        ------
        StoreError
            Where there is no such sentence with vectors, view or head.
        """
        check_extra("notebook")
        from dashboard.notebook.sentence import sentence_widget
        from dashboard.sentence.sentence import stored_sentence

        stored = stored_sentence(self, index)
        query, key, norm = (np.asarray(each) for each in (stored.query, stored.key, stored.value_norm))
        sentence = replace(stored, query=query, key=key, value_norm=norm)
        return sentence_widget(self.title, sentence, show=show, layer=layer, heads=heads, first=first)
