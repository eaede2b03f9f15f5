"""The program of a check for use elsewhere: in a file, in a bigger model, with another solver."""

from collections.abc import Sequence
from dataclasses import replace

from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.errors import InputError
from milp_verix.base.stored_numbers import beyond_memory, free_memory
from milp_verix.oracle.ball_bounds import bounds_within, resolve_bounds
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, Search, resolve_formulation
from verix_encodings import Encoding, Network, Program, encode
from verix_encodings.arrays import count_of_entries
from verix_encodings.kinds.tree_ensemble import TreeEnsemble

_DROPPED = 1e-13
"""Weights of up to this are left out; Gurobi ignores as much."""

_EACH_ENTRY, _EACH_NODE = 60, 20
"""Bytes of a program for each weight, measured; entries for each node of a tree."""


def require_program_memory(network: Network, each: int = _EACH_ENTRY) -> None:
    """Raise ``InputError`` where the program of ``network`` needs more memory than is free.

    ``each`` are the bytes that an entry of the program takes.
    """
    entries = sum(
        _EACH_NODE * node.feature.size
        if isinstance(node, TreeEnsemble)
        else sum(count_of_entries(matrix) for _, matrix in node.matrices)
        for node in network.nodes
    )
    if (needed := each * entries) > (free := free_memory()):
        fits = f"a network of {free // each:,} entries"
        raise InputError(beyond_memory("the program", needed, f"{entries:,} entries", free, fits))


def encode_problem(
    problem: ProblemData,
    free: Sequence[int | str] | None = None,
    *,
    quadratic: bool = False,
    search: Search = USUAL,
) -> Encoding:
    """Answer :func:`milp_verix.encode_check`, which describes the arguments."""
    search.require_only("export", "the program of a check")
    problem.network.require_unchanged()
    require_program_memory(problem.margins)
    chosen = range(problem.features.count) if free is None else free
    coordinates = problem.features.coordinates(features_in(chosen, problem, "free"))
    region = problem.ball.region(coordinates)
    found = bounds_within(resolve_bounds(search.bounds)[1], problem.margins, region, NO_LIMIT)
    ball = problem.ball.encoding(region, quadratic=quadratic)
    relu = resolve_formulation(search.formulation).relu
    encoding = encode(problem.margins, found, relu, ball, search.segments)
    # readers of files drop such weights without a word: rows are widened by what they can add
    return replace(encoding, program=encoding.program.without_tiny(_DROPPED))


_MEANINGS = {
    "x": "input",
    "z": "pre-activation",
    "a": "activation",
    "d": "phase: 1 if the pre-activation is above 0",
    "s": "slack",
}
"""The meanings of columns by the first letter of their names."""


def column_map(program: Program) -> str:
    """Return a table of the columns of ``program`` as CSV: a line for each.

    ``block`` is the name without the last number, ``node`` the number of the node of the network,
    empty for inputs, and ``neuron`` the number within the node, or of the coordinate.
    """
    lines = ["column,name,meaning,node,neuron,lower,upper,integer"]
    ends = zip(program.column_lower, program.column_upper, program.integer, strict=True)
    named = [
        (prefix, int(number)) for prefix, numbers in program.column_labels for number in numbers
    ]
    for place, ((prefix, number), (low, high, whole)) in enumerate(zip(named, ends, strict=True)):
        kind, _, node = prefix.partition("_")
        meaning = _MEANINGS.get(kind, kind)
        cells = (place, f"{prefix}_{number}", meaning, node, number)
        lines.append(",".join(map(str, (*cells, f"{low:.17g}", f"{high:.17g}", int(whole)))))
    return "\n".join(lines) + "\n"
