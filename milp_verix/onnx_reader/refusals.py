"""Operators that are refused on purpose, and why: what no exact piecewise linear network computes.

An operator that is neither here nor in the registry is refused too, with the list of those that are
supported.
"""

_CURVED = "it is not piecewise linear, so no mixed-integer linear program computes it exactly"
_JUMPS = "it jumps, and the big-M encoding of a jump is not exact"
_LABELS = "it returns labels; name the output that holds the scores as output="

refusals: dict[str, str] = {
    **dict.fromkeys(
        (
            "Celu",
            "Elu",
            "Erf",
            "Exp",
            "Gelu",
            "HardSwish",
            "InstanceNormalization",
            "LRN",
            "LayerNormalization",
            "LpNormalization",
            "LpPool",
            "Mish",
            "Pow",
            "Reciprocal",
            "Selu",
            "Softplus",
            "Softsign",
            "Sqrt",
            "Swish",
            "Tanh",
        ),
        _CURVED,
    ),
    **dict.fromkeys(("Ceil", "Floor", "Hardmax", "Round", "Sign", "ThresholdedRelu"), _JUMPS),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK"), _LABELS),
}
