"""Families of models: the names of config fields, of weights and of transformers' modules in each. No other module names them.

This module: the list of all families, and the family of a config.json.
"""

from collections.abc import Sequence

from ingest.family.bert import Bert, Electra, Ernie, LayoutLm
from ingest.family.deberta import DebertaV2
from ingest.family.gpt2 import Gpt2
from ingest.family.protocol import Config, Family
from ingest.family.roberta import Camembert, Data2VecText, Esm, Mpnet, Roberta, RobertaPreLayerNorm, XlmRoberta, Xmod
from ingest.family.rotary import EuroBert, JinaEmbeddingsV3, ModernBert, NomicBert
from ingest.family.small_bert import Albert, DistilBert

FAMILIES: Sequence[Family] = (
    Bert(),
    Roberta(),
    XlmRoberta(),
    Camembert(),
    DistilBert(),
    Electra(),
    Ernie(),
    Data2VecText(),
    Albert(),
    RobertaPreLayerNorm(),
    NomicBert(),
    JinaEmbeddingsV3(),
    ModernBert(),
    Mpnet(),
    DebertaV2(),
    EuroBert(),
    Gpt2(),
    Esm(),
    LayoutLm(),
    Xmod(),
)
_BY_TYPE = {family.model_type: family for family in FAMILIES}


def find_family(config: Config) -> Family | None:
    """The family of a config.json; None where its `model_type` is not known."""
    model_type = config.get("model_type")
    return _BY_TYPE.get(model_type) if isinstance(model_type, str) else None


def family_of(config: Config) -> Family:
    """The family of a config.json that was checked."""
    return _BY_TYPE[config["model_type"]]
