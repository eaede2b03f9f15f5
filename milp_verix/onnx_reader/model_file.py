"""The model file on disk: its bytes, their fingerprint, and the ONNX graph in them."""

import hashlib
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from milp_verix.errors import ModelError


def read_model(path: Path) -> tuple[onnx.ModelProto, str]:
    """Return the model in the file and the file's SHA-256, without weights stored beside it.

    Raises ``ModelError`` where the file is missing, unreadable, empty, truncated or not ONNX.
    """
    if path.exists() and not path.is_file():
        raise ModelError(f"cannot read {path}: it is not a file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    if not data:
        raise ModelError(f"cannot read {path}: the file is empty")
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ModelError(f"cannot read {path}: it is truncated or not an ONNX model") from error
    if not model.graph.output:
        raise ModelError(f"cannot read {path}: it is not an ONNX model, or has no output")
    return model, hashlib.sha256(data).hexdigest()
