"""A model as the user gives it: its bytes, their fingerprint, the ONNX graph in them, its sessions.

Its metadata keep facts that its library knew and ONNX does not say. Weights stored outside of the
file are read into the model, from its own folder.

A model with several inputs is one of a single vector: slices and reshapes in front of the graph
take it apart, so that whatever reads the model, or runs it, sees one input. They move numbers and
round nothing.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnxruntime
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]

from milp_verix.base.errors import ModelError, first_line, listed
from milp_verix.models.loaded_model import IN_MEMORY, KnownFacts
from milp_verix.models.onnx.graph import FLOAT_TYPES, inputs_of
from milp_verix.models.trees.readers import path_of

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


def embed(model: onnx.ModelProto, folder: Path | None) -> None:
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
        try:
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
        except Exception as error:  # onnx raises its own, Python's and plain C++ errors
            raise ModelError(
                f"{label} cannot be read from {location!r} in the model's folder: "
                f"{first_line(error)}"
            ) from error
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

    Raises ``ModelError`` where it is missing, unreadable, empty, truncated or not ONNX.
    """
    label, data = path_of(source) or IN_MEMORY, _bytes_of(source)
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
    return model, hashlib.sha256(data).hexdigest()


def serialised(model: onnx.ModelProto) -> bytes:
    """Return the bytes of a model. Raises ``ModelError`` where it is too large for one message."""
    try:
        data: bytes = model.SerializeToString()
    except Exception as error:  # protobuf's implementations raise different errors
        raise ModelError(f"cannot serialise {IN_MEMORY}: {first_line(error)}") from error
    return data


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
    try:
        return opened(source)
    except Exception as error:  # onnxruntime's exceptions share no base class but this
        text = f"onnxruntime cannot load {path or IN_MEMORY}"
        raise ModelError(f"{text}: {first_line(error)}") from error


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
