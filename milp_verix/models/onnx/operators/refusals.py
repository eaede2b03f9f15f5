"""Operators that are refused on purpose, each with the reason and often a way out.

An operator that is neither here nor in the registry is refused too, with the list of supported
ones.
"""

_JUMPS = "it jumps from one element to another, and the encoding of that is not exact"
_LOOPS = (
    "only feed-forward networks and recurrent layers are supported; export with a fixed number of "
    "steps, unrolled"
)
_POOL = "it sums powers over windows; export it as Pow, AveragePool and Pow"
_FUSED = "it is an operator of onnxruntime alone; export with standard ONNX operators"
_LABELS = "it returns labels; name the output that holds the scores as output="
_SORTS = (
    "it picks values by their order; if it ends the model, name the output that holds the scores "
    "as output=; MaxPool and ReduceMax are read"
)

refusals: dict[str, str] = {
    "Hardmax": _JUMPS,
    "LpPool": _POOL,
    **dict.fromkeys(("ArgMax", "ArgMin"), _LABELS),
    "TopK": _SORTS,
    **dict.fromkeys(("If", "Loop", "Scan"), _LOOPS),
    **dict.fromkeys(("com.microsoft.Attention", "com.microsoft.MultiHeadAttention"), _FUSED),
}
