"""A model as the user gives it: its bytes, their fingerprint, the ONNX graph in them, its sessions.

Its metadata keep facts that its library knew and ONNX does not say. Weights stored outside of the
file are read into the model, from its own folder.

A model with several inputs is one of a single vector: slices and reshapes in front of the graph
take it apart, so that whatever reads the model, or runs it, sees one input. They move numbers and
round nothing.

ONNX asks for nodes each after those it reads; onnxruntime takes them in any order. scikit-learn's
exporter, for one, ends a classifier in a label (ArgMax, ArrayFeatureExtractor, Cast) and a map from
labels to probabilities (ZipMap). Both are made from a tensor of scores inside the model: the file
is cut there, and the part before it is run as it is.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from math import prod
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]

from milp_verix.base.errors import (
    InputError,
    ModelError,
    first_line,
    listed,
    refusing,
    require_one_of,
)
from milp_verix.models.loaded_model import IN_MEMORY, KnownFacts
from milp_verix.models.onnx.symbol import MAX_ELEMENTS, Shape
from milp_verix.models.trees.readers import path_of

FLOAT_TYPES: dict[int, np.dtype[Any]] = {
    onnx.TensorProto.FLOAT16: np.dtype(np.float16),
    onnx.TensorProto.FLOAT: np.dtype(np.float32),
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The one input and the one output of a model that is read; ``input_shape`` is concrete.

    ``scores_name`` is the tensor with the scores: the output, unless that holds labels or a map.
    """

    input_name: str
    input_shape: Shape
    dtype: np.dtype[np.floating]
    output_name: str
    scores_name: str


def read_signature(
    graph: onnx.GraphProto, *, input_shape: Sequence[int] | None = None, output: str | None = None
) -> Signature:
    """Return the signature of ``graph``.

    ``input_shape`` fixes dynamic dimensions; without it, a single dynamic one is the batch and
    becomes 1. ``output`` chooses among several outputs; without it, labels do not count.

    Raises ``ModelError`` where the graph has not exactly one input of floating-point numbers and
    known shape, or several outputs and none is chosen; ``InputError`` where an argument does not
    fit the graph.
    """
    if len(inputs := inputs_of(graph)) != 1:
        names = listed([repr(value.name) for value in inputs]) or "none"
        raise ModelError(f"the model must have exactly one input, it has {len(inputs)}: {names}")
    (source,) = inputs
    tensor = source.type.tensor_type
    if not source.type.HasField("tensor_type") or tensor.elem_type not in FLOAT_TYPES:
        raise ModelError(
            f"input {source.name!r} is not a tensor of float16, float32 or float64 numbers"
        )
    shape = _concrete(source.name, _declared(tensor), input_shape)
    if prod(shape) > MAX_ELEMENTS:
        raise ModelError(
            f"input {source.name!r} of shape {shape} has more than {MAX_ELEMENTS:,} entries"
        )
    return Signature(source.name, shape, FLOAT_TYPES[tensor.elem_type], *scores_of(graph, output))


def inputs_of(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs of ``graph`` for which no tensor is stored."""
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in stored]


def _declared(tensor: onnx.TypeProto.Tensor) -> list[int | str] | None:
    """Return the declared dimensions, a dynamic one by its name or as ``"?"``."""
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.dim_value > 0 else str(dim.dim_param) or "?"  # bytes, if damaged
        for dim in tensor.shape.dim
    ]


def _concrete(
    name: str, declared: list[int | str] | None, given: Sequence[int] | None
) -> tuple[int, ...]:
    if given is not None:
        return _given(name, declared, given)
    if declared is None:
        raise ModelError(f"input {name!r} has no declared shape; give it as input_shape=")
    dynamic = sum(isinstance(dim, str) for dim in declared)
    if dynamic > 1:
        raise ModelError(
            f"input {name!r} has shape ({', '.join(map(str, declared))}), of which {dynamic} "
            "dimensions are dynamic; give the shape as input_shape="
        )
    return tuple(1 if isinstance(dim, str) else dim for dim in declared)


def _given(name: str, declared: list[int | str] | None, given: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(index(dim) for dim in given)
    except TypeError as error:
        raise InputError(f"input_shape is {given!r}, expected positive integers") from error
    if any(dim < 1 for dim in shape):
        raise InputError(f"input_shape is {shape}, expected positive integers")
    fits = declared is None or (
        len(shape) == len(declared)
        and all(isinstance(d, str) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not fits:
        raise InputError(
            f"input_shape is {shape}, but input {name!r} has shape "
            f"({', '.join(map(str, declared or ()))})"
        )
    return shape


NODES_OF_TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")


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
    """Return nodes for ``tensors``, in the graph's order if valid; ``ModelError`` for a cycle."""
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


# From a label back to the index of the greatest score: the input that holds it, by operator.
_BEFORE_LABELS = {
    **dict.fromkeys(("ArrayFeatureExtractor", "Gather"), 1),
    **dict.fromkeys(("Cast", "Flatten", "Identity", "Reshape", "Squeeze"), 0),
}


def scores_of(graph: onnx.GraphProto, output: str | None) -> tuple[str, str]:
    """Return the output to explain and the tensor with its scores; they differ only for labels.

    Without ``output`` it is the only one that is not a label. Raises ``ModelError`` if there are
    several, or none; ``InputError`` if ``output`` is not an output of the model.
    """
    chosen = _chosen(graph, output)
    producers = {name: proto for proto in graph.node for name in proto.output}
    proto = producers.get(chosen.name)
    if proto is not None and proto.op_type == "ZipMap" and proto.input:
        return chosen.name, proto.input[0]
    return chosen.name, _before_label(chosen.name, producers) if _is_label(chosen) else chosen.name


def cut(model: onnx.ModelProto, tensors: Sequence[str]) -> onnx.ModelProto:
    """Return the part of ``model`` that computes ``tensors``, which are its outputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = nodes_for(model.graph, tensors)
    del result.graph.node[:], result.graph.output[:]
    result.graph.node.extend(kept)
    result.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, tensors))
    return result


def _chosen(graph: onnx.GraphProto, output: str | None) -> onnx.ValueInfoProto:
    outputs: dict[str, onnx.ValueInfoProto] = {value.name: value for value in graph.output}
    if output is not None:
        require_one_of(outputs, output, "output of the model")
        return outputs[output]
    of_scores = [value for value in outputs.values() if not _is_label(value)]
    candidates = of_scores or list(outputs.values())
    if len(candidates) > 1:
        names = listed([*map(repr, outputs)])
        raise ModelError(f"the model has several outputs ({names}); choose one with output=")
    return candidates[0]


def _is_label(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return value.type.HasField("tensor_type") and tensor.elem_type not in (0, *FLOAT_TYPES)


def _before_label(label: str, producers: dict[str, onnx.NodeProto]) -> str:
    """Return the input of the ArgMax that ``label`` comes from, or ``label`` without an ArgMax."""
    name = label
    for _ in producers:
        proto = producers.get(name)
        if proto is None:
            break
        if proto.op_type == "ArgMax" and proto.input:
            return str(proto.input[0])
        source = _BEFORE_LABELS.get(proto.op_type)
        if source is None or source >= len(proto.input):
            break
        name = proto.input[source]
    return label


FACTS_KEY = "milp_verix_facts"


def write_facts(model: onnx.ModelProto, facts: KnownFacts) -> None:
    """Store ``facts`` in the metadata of ``model``; nothing where there are none."""
    if facts != KnownFacts():
        model.metadata_props.add(key=FACTS_KEY, value=json.dumps(asdict(facts)))


def facts_of(model: onnx.ModelProto, classes: int) -> KnownFacts:
    """Return the facts in ``model``, of so many ``classes``; ``ModelError`` if they are damaged."""
    stored = {entry.key: entry.value for entry in model.metadata_props}.get(FACTS_KEY)
    if stored is None:
        return KnownFacts()
    try:
        data = json.loads(stored)
        facts = KnownFacts(data["regressor"], tuple(data["class_names"]), tuple(data["notes"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged() from error
    texts = (*facts.class_names, *facts.notes, facts.regressor or "")
    count = len({*facts.class_names})
    if not all(isinstance(text, str) for text in texts) or count not in (0, classes):
        raise _damaged()
    return facts


def _damaged() -> ModelError:
    return ModelError(
        f"the model's metadata {FACTS_KEY!r} is damaged: remove it, or export once more"
    )


def _embed(model: onnx.ModelProto, folder: Path | None) -> None:
    """Store tensors that ``model`` keeps in files in ``folder`` in the model itself.

    These are initializers and the attributes of nodes, nested ones too. ``folder`` is None for a
    model without a file. Raises ``ModelError`` where a file is missing, damaged or outside of the
    folder: a model from elsewhere must not read other files, or those of another model.
    """
    for tensor in _tensors(model):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        label = f"tensor {tensor.name!r}"
        location = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        if folder is None:
            raise ModelError(
                f"{label} is stored in the file {location!r}, and a model in memory has no folder "
                "to look in; load the model by its path, or its weights with onnx.load"
            )
        if not _inside(folder, location):
            raise ModelError(
                f"{label} is stored in {location!r}, which is not inside the model's folder; "
                "put its file there and name it by a relative path"
            )
        where = f"{label} cannot be read from {location!r} in the model's folder"
        # onnx raises its own, Python's and plain C++ errors
        with refusing(where, Exception, kind=ModelError, brief=True):
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _inside(folder: Path, location: str) -> bool:
    path = Path(location)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in location:
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _tensors(message: Message) -> Iterator[onnx.TensorProto]:
    """Yield every tensor anywhere in ``message``."""
    messages = [message]
    while messages:
        message = messages.pop()
        if isinstance(message, onnx.TensorProto):
            yield message
            continue
        for field, value in message.ListFields():
            if field.message_type is not None:
                messages.extend(value if isinstance(value, Message) is False else [value])


ModelSource: TypeAlias = str | PathLike[str] | bytes | onnx.ModelProto
"""The path of an ONNX file, its content, or a model in memory."""

_TORCH = (
    "a file of PyTorch",
    "load the module in Python and give it with example=x, or export it with torch.onnx.export",
)
_PICKLE = (
    "a pickle of Python",
    "load the model in Python and give it in place of the path, or export it to ONNX",
)
_KERAS = (
    "a file of Keras",
    "load it with keras.saving.load_model and give the model, or export it with model.export",
)
_OTHERS = {
    **dict.fromkeys((".pt", ".pth", ".ckpt"), _TORCH),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    **dict.fromkeys((".h5", ".hdf5", ".keras"), _KERAS),
}
"""Files of other libraries by their suffix: what they are, and what to do."""

_LARGEST = 2**31
"""Bytes up to which Protocol Buffers go; larger weights are stored beside the file."""


def read_model(source: ModelSource) -> tuple[onnx.ModelProto, str]:
    """Return a copy of the model that holds all of its weights, and the SHA-256 of its bytes.

    Raises ``ModelError`` where it is missing, unreadable, empty, truncated or not ONNX, and where
    weights that it keeps in files of its folder are.
    """
    path, data = path_of(source), _bytes_of(source)
    label = path or IN_MEMORY
    if not data:
        raise ModelError(f"cannot read {label}: it is empty")
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        seen = "truncated or not an ONNX model"
        if data.startswith((b"\x93NUMPY", b"\x89PNG")):
            seen = "an array or a picture, no ONNX model; name the model before the input"
        raise ModelError(f"cannot read {label}: it is {seen}") from error
    if not model.graph.output:
        raise ModelError(f"cannot read {label}: it is not an ONNX model, or has no output")
    _embed(model, None if path is None else path.parent)
    return model, hashlib.sha256(data).hexdigest()


def serialised(model: onnx.ModelProto) -> bytes:
    """Return the bytes of a model. Raises ``ModelError`` where it is too large for one message."""
    # protobuf's implementations raise different errors
    with refusing(f"cannot serialise {IN_MEMORY}", Exception, kind=ModelError, brief=True):
        return bytes(model.SerializeToString())


def opened(source: Path | bytes) -> Any:
    """Return a session of onnxruntime, which raises errors of its own."""
    options = onnxruntime.SessionOptions()
    # One thread: single inputs are too small to share, and results must not depend on scheduling.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; fatal ones alone are worth a line
    # a second try with the same provider would print what the first one raised
    return onnxruntime.InferenceSession(
        source, options, providers=["CPUExecutionProvider"], enable_fallback=0
    )


def session_of(path: Path | None, model: onnx.ModelProto | None = None) -> Any:
    """Return a session of onnxruntime for ``model``, or for the file at ``path`` if that is None.

    Errors name ``path`` in either case. Raises ``ModelError`` where onnxruntime cannot load it.
    """
    source = path if model is None else serialised(model)
    assert source is not None
    text = f"onnxruntime cannot load {path or IN_MEMORY}"
    # its exceptions share no base class but this
    with refusing(text, Exception, kind=ModelError, brief=True):
        return opened(source)


def _bytes_of(source: ModelSource) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, onnx.ModelProto):
        return serialised(source)
    path = Path(source)
    kind, remedy = _OTHERS.get(path.suffix.lower(), ("", ""))
    try:
        if path.exists() and not path.is_file():
            raise ModelError(f"cannot read {path}: it is not a file")
        if kind and path.exists():
            raise ModelError(f"cannot read {path}: it is {kind} and no ONNX file; {remedy}")
        if path.stat().st_size > _LARGEST:
            raise ModelError(f"cannot read {path}: it is larger than 2 GiB, as no ONNX file is")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # no path of a file can be that
        raise ModelError(f"cannot read {str(path)!r}: {first_line(error)}") from error


JOINED = "milp_verix_inputs"
"""The name of the vector."""


@dataclass(frozen=True, slots=True)
class JoinedInputs:
    """The inputs of a model in their order: their names, and the number of entries of each."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each entry of the vector: the input's, with a number if it has several."""
        return tuple(
            name if size == 1 else f"{name}[{place}]"
            for name, size in zip(self.names, self.sizes, strict=True)
            for place in range(size)
        )


def join_inputs(model: onnx.ModelProto) -> JoinedInputs | None:
    """Give ``model`` one input in place of several, in place; None if it has not several.

    A dynamic dimension is a batch of 1. Raises ``ModelError`` for inputs without a shape, with
    several dynamic dimensions, or of types that are not one floating-point type.
    """
    graph, inputs = model.graph, inputs_of(model.graph)
    if len(inputs) < 2:
        return None
    types = {value.type.tensor_type.elem_type for value in inputs}
    if len(types) != 1 or not types <= {*FLOAT_TYPES}:
        several = listed([repr(value.name) for value in inputs])
        raise ModelError(
            f"the model has several inputs, {several}, which are not all of one floating-point type"
        )
    shapes = [_shape(value) for value in inputs]
    sizes = tuple(prod(shape) for shape in shapes)
    nodes, start = [], 0
    for value, shape, size in zip(inputs, shapes, sizes, strict=True):
        constants = {"start": [start], "end": [start + size], "axis": [1], "shape": shape}
        stored = {key: f"{JOINED}_{value.name}_{key}" for key in constants}
        for key, numbers in constants.items():
            tensor = onnx.helper.make_tensor(
                stored[key], onnx.TensorProto.INT64, [len(numbers)], numbers
            )
            graph.initializer.append(tensor)
        part = f"{JOINED}_{value.name}"
        bounds = [stored["start"], stored["end"], stored["axis"]]
        nodes.append(onnx.helper.make_node("Slice", [JOINED, *bounds], [part]))
        nodes.append(onnx.helper.make_node("Reshape", [part, stored["shape"]], [value.name]))
        start += size
    names = tuple(value.name for value in inputs)
    kept = [value for value in graph.input if value.name not in names]
    before = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.input[:], graph.node[:]
    graph.input.append(onnx.helper.make_tensor_value_info(JOINED, types.pop(), [1, start]))
    graph.input.extend(kept)
    graph.node.extend([*nodes, *before])
    return JoinedInputs(names, sizes)


def _shape(value: onnx.ValueInfoProto) -> list[int]:
    tensor = value.type.tensor_type
    dims = [dim.dim_value if dim.dim_value > 0 else 0 for dim in tensor.shape.dim]
    if not tensor.HasField("shape") or dims.count(0) > 1:
        raise ModelError(
            f"input {value.name!r}, one of several, has no shape with one dynamic dimension at most"
        )
    return [dim or 1 for dim in dims]
