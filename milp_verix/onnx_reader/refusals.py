"""Operators that are refused on purpose, and why: what no exact piecewise linear network computes.

An operator that is neither here nor in the registry is refused too, with the list of those that are
supported.
"""

_CURVED = "it is not piecewise linear, so no mixed-integer linear program computes it exactly"
_ERF = "it is usually a part of a GELU; export with opset 20 or later, where GELU is one node"
_JUMPS = "it jumps, and the big-M encoding of a jump is not exact"
_LABELS = "it returns labels; name the output that holds the scores as output="

refusals: dict[str, str] = {
    **dict.fromkeys(
        (
            "Exp",
            "HardSwish",
            "InstanceNormalization",
            "LRN",
            "LayerNormalization",
            "LpNormalization",
            "LpPool",
            "Pow",
            "Reciprocal",
            "Sqrt",
        ),
        _CURVED,
    ),
    "Erf": _ERF,
    **dict.fromkeys(("Ceil", "Floor", "Hardmax", "Round", "Sign", "ThresholdedRelu"), _JUMPS),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK"), _LABELS),
}
