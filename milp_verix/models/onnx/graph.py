"""The nodes of a graph that a tensor needs, each after the nodes that it reads from.

ONNX asks for nodes in such an order; onnxruntime takes them in any.
"""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

import onnx

from milp_verix.base.errors import ModelError

NODES_OF_TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")


def has_trees(graph: onnx.GraphProto) -> bool:
    """Return whether a node of ``graph`` is made of trees."""
    return any(node.op_type in NODES_OF_TREES for node in graph.node)


def producers_of(graph: onnx.GraphProto) -> dict[str, int]:
    """Return the place in ``graph.node`` of the node that computes each tensor, by its name.

    Raises ``ModelError`` where a tensor is defined twice, or a part of a Split has no name.
    """
    defined = {tensor.name for tensor in graph.initializer}
    defined |= {value.name for value in graph.input}
    producers: dict[str, int] = {}
    for place, proto in enumerate(graph.node):
        if proto.op_type == "Split" and not all(proto.output):
            # no output of a variable number may be left out; onnxruntime crashes on it
            raise ModelError(f"Split {proto.name!r} is malformed: it has an output without a name")
        for name in filter(None, proto.output):
            if name in defined:
                raise ModelError(f"{proto.op_type} {proto.name!r} defines {name!r} a second time")
            defined.add(name)
            producers[name] = place
    return producers


def nodes_for(graph: onnx.GraphProto, tensors: Iterable[str]) -> list[onnx.NodeProto]:
    """Return the nodes that ``tensors`` depend on, in the graph's own order if that is valid.

    Raises ``ModelError`` for a cycle, and as :func:`producers_of` does.
    """
    producers = producers_of(graph)
    read: dict[int, set[int]] = {}
    reached = [producers[name] for name in tensors if name in producers]
    while reached:
        place = reached.pop()
        if place not in read:
            read[place] = {producers[n] for n in graph.node[place].input if n in producers}
            reached.extend(read[place])
    sorter = TopologicalSorter(read)
    try:
        sorter.prepare()
    except CycleError as error:
        raise _cyclic(graph, error.args[1]) from error
    nodes: list[onnx.NodeProto] = []
    ready: list[int] = []
    while sorter.is_active():
        for place in sorter.get_ready():
            heappush(ready, place)
        first = heappop(ready)
        nodes.append(graph.node[first])
        sorter.done(first)
    return nodes


def _cyclic(graph: onnx.GraphProto, cycle: list[int]) -> ModelError:
    proto = graph.node[min(cycle)]
    computed = {name for place in cycle for name in graph.node[place].output if name}
    name = next(name for name in proto.input if name in computed)
    return ModelError(
        f"{proto.op_type} {proto.name!r} reads {name!r} before it is computed: the nodes form a "
        "cycle; only feed-forward networks can be read"
    )
