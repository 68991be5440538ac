"""What Clark et al. 2019 and Kobayashi et al. 2021 published of bert-base-uncased, by layer, the first is 1.

Clark's layer means are read off the figures that stand in General_Analysis.ipynb of clarkkev/attention-analysis at
b609cfc (so to 0.01 of attention and 0.05 nats): 992 segments of Wikipedia, pairs with all segment ids 0, means over the
12 heads. The legend of its Figure 2 has next and previous exchanged; here they stand as the paper's text has them.
Kobayashi's rates are printed by expansion_rate_attn_f.py of gorokoba560/norm-analysis-of-transformer at 5dc8fb3; they
follow from the weights alone.
"""

from dataclasses import dataclass

LAYERS = HEADS = 12


@dataclass(frozen=True)
class Target:
    """A published curve over the layers, None where nothing is published, and how far from it is not the same model.

    The text here is another one than in the paper, so that only the shape of a curve can agree.
    """

    title: str
    values: tuple[float | None, ...]
    tolerance: float


CURVES = {
    "to_sep": Target(
        "attention to [SEP]",
        (0.023, 0.05, 0.076, 0.21, 0.49, 0.55, 0.535, 0.574, 0.574, 0.478, 0.062, 0.069),
        0.1,
    ),
    "to_cls": Target(
        "attention to [CLS]",
        (0.05, 0.256, 0.24, 0.147, 0.022, 0.014, 0.012, 0.012, 0.012, 0.013, 0.025, 0.007),
        0.1,
    ),
    "to_punctuation": Target(
        "attention to . and ,",
        (0.069, 0.109, 0.088, 0.086, 0.05, 0.047, 0.047, 0.053, 0.055, 0.08, 0.51, 0.577),
        0.15,
    ),
    "sep_to_sep": Target(
        "[SEP] to [SEP]",
        (0.156, 0.138, 0.105, 0.472, 0.898, 0.908, 0.893, 0.908, 0.873, 0.367, 0.067, 0.104),
        0.15,
    ),
    "other_to_sep": Target(
        "other tokens to [SEP]",
        (0.026, 0.052, 0.077, 0.21, 0.485, 0.545, 0.53, 0.567, 0.568, 0.481, 0.063, 0.069),
        0.1,
    ),
    "entropy": Target(
        "entropy, nats",
        (3.6, 2.86, 2.55, 2.73, 2.42, 1.92, 1.92, 1.75, 2.21, 2.5, 2.8, 2.81),
        0.4,
    ),
    "entropy_from_cls": Target(
        "entropy from [CLS], nats",
        (3.65, 3.55, 2.06, 2.74, 2.45, 2.35, 2.61, 2.05, 2.23, 2.8, 3.51, 3.9),
        0.6,
    ),
    # Dots may hide each other: only the head with the most of a layer can be compared, where it was told apart.
    "most_to_next": Target(
        "most of a head to the next token",
        (0.58, 0.49, 0.98, 0.35, None, 0.60, None, None, None, None, None, None),
        0.1,
    ),
    "most_to_previous": Target(
        "most of a head to the previous token",
        (0.40, 0.55, None, 0.68, None, None, 0.55, 0.51, None, None, None, None),
        0.1,
    ),
}

EXPANSION_RATE = Target(
    "expansion rate of f, from the weights",
    (0.901, 0.74, 0.632, 0.679, 0.911, 0.989, 0.919, 0.905, 0.948, 0.913, 0.932, 1.051),
    0.0006,  # printed with three decimals
)
#: Clark's dashed line: mean over segments of ln n.
UNIFORM_ENTROPY = 4.78
