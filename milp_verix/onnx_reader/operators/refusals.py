"""Operators that are refused on purpose, each with the reason and often a way out.

An operator that is neither here nor in the registry is refused too, with the list of supported
ones.
"""

_CURVED = "it is not piecewise linear, so no mixed-integer linear program computes it exactly"
_ERF = "it is usually a part of a GELU; export with opset 20 or later, where GELU is one node"
_JUMPS = "it jumps, and the big-M encoding of a jump is not exact"
_FEED_FORWARD = (
    "only feed-forward networks of dense, convolutional and pooling layers are supported"
)
_LOOPS = (
    f"{_FEED_FORWARD}; export with a fixed number of steps, unrolled into MatMul, Add and "
    "activations"
)
_GATES = (
    f"its gates multiply tensors that both depend on the input, and {_FEED_FORWARD}; replace it by "
    "such layers, or by a plain recurrent layer unrolled over a fixed number of steps"
)
_ATTENTION = (
    f"it multiplies queries, keys and values that all depend on the input, and {_FEED_FORWARD}; "
    "explain a network without attention, or the layers behind it as a model of their own"
)
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
    **dict.fromkeys(("If", "Loop", "RNN", "Scan"), _LOOPS),
    **dict.fromkeys(("GRU", "LSTM"), _GATES),
    **dict.fromkeys(
        ("Attention", "com.microsoft.Attention", "com.microsoft.MultiHeadAttention"), _ATTENTION
    ),
}
