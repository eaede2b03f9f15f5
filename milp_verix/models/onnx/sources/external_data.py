"""Weights stored outside of a model file, read into the model from the model's own folder."""

from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from milp_verix.base.errors import ModelError, first_line


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
