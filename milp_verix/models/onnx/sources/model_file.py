"""A model as the user gives it: its bytes, their fingerprint, and the ONNX graph in them."""

import hashlib
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from milp_verix.base.errors import ModelError, first_line
from milp_verix.models.loaded_model import IN_MEMORY

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


def path_of(source: ModelSource) -> Path | None:
    """Return the path of the file that ``source`` names, None for a model in memory."""
    return Path(source) if isinstance(source, (str, PathLike)) else None


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
        raise ModelError(f"cannot read {label}: it is truncated or not an ONNX model") from error
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


def _bytes_of(source: ModelSource) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, onnx.ModelProto):
        return serialised(source)
    path = Path(source)
    if path.exists() and not path.is_file():
        raise ModelError(f"cannot read {path}: it is not a file")
    kind, remedy = _OTHERS.get(path.suffix.lower(), ("", ""))
    if kind and path.exists():
        raise ModelError(f"cannot read {path}: it is {kind} and no ONNX file; {remedy}")
    try:
        if path.stat().st_size > _LARGEST:
            raise ModelError(f"cannot read {path}: it is larger than 2 GiB, as no ONNX file is")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # no path of a file can be that
        raise ModelError(f"cannot read {str(path)!r}: {first_line(error)}") from error
