"""The modules of a loaded DistilBERT: its layers are those of BERT under other names, and its attention holds the output projection."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from ingest.family.bert import BertLayer, BertParts


class DistilBertParts(BertParts):
    """Modules of a `transformers.DistilBertModel`."""

    has_token_types = False

    @property
    def encoder(self) -> nn.Module:
        """All layers."""
        return self.module.transformer

    @property
    def layers(self) -> "Sequence[DistilBertLayer]":
        """The layers in order."""
        return list(map(DistilBertLayer, self.module.transformer.layer))


class DistilBertLayer(BertLayer):
    """Modules of a `TransformerBlock`, whose attention holds the output projection too."""

    @property
    def attention(self) -> nn.Module:
        """From the input of the layer to the context: from here on the output projection is a module beside it."""
        if not isinstance(self.module.attention, _Attention):
            self.module.attention = _Attention(self.module.attention)
        return self.module.attention.self

    @attention.setter
    def attention(self, attention: nn.Module) -> None:
        self.module.attention.self = attention

    @property
    def _linears(self) -> Any:
        attention = self.module.attention
        return attention.own if isinstance(attention, _Attention) else attention

    @property
    def query(self) -> Any:
        """To the queries of all heads."""
        return self._linears.q_lin

    @property
    def key(self) -> Any:
        """To the keys of all heads."""
        return self._linears.k_lin

    @property
    def value(self) -> Any:
        """To the values of all heads."""
        return self._linears.v_lin

    @property
    def output(self) -> Any:
        """The output projection."""
        attention = self.module.attention
        return attention.dense if isinstance(attention, _Attention) else attention.out_lin

    @property
    def norm(self) -> Any:
        """The layer norm after attention."""
        return self.module.sa_layer_norm

    @property
    def points(self) -> Mapping[str, nn.Module]:
        """Modules whose outputs are feature points."""
        return {
            "projected": self.output,
            "attended": self.module.sa_layer_norm,
            "expanded": self.module.ffn.lin2,
            "feedforward": self.module.output_layer_norm,
        }


class _Attention(nn.Module):
    """DistilBERT's attention as BERT has it: heads, then the output projection."""

    def __init__(self, own: Any) -> None:
        super().__init__()
        #: `self` is what is called, `own` what holds the linear layers.
        self.self, self.own, self.dense = own, own, own.out_lin
        own.out_lin = nn.Identity()

    def forward(self, *inputs: Any, **named: Any) -> tuple[Tensor, Tensor | None]:
        """Output of the projection, and the pattern where there is one."""
        context, pattern = self.self(*inputs, **named)
        return self.dense(context), pattern
