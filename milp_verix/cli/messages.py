"""Models in pickles of Python, and the messages that text pipelines among them are asked about."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milp_verix.base.errors import InputError, ModelError, refusing
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.sources.text_model import is_text_pipeline

if TYPE_CHECKING:
    from milp_verix.api.message import Message

_PICKLES = (".joblib", ".pkl", ".pickle")


def model_in(path: Path) -> Any:
    """Return the model in a pickle, which runs code when it is read; the path of another file.

    Raises ``InputError`` without joblib, and ``ModelError`` where the file cannot be read.
    """
    if path.suffix.lower() not in _PICKLES or not path.is_file():
        return path
    try:
        import joblib
    except ImportError:
        raise InputError(f"{path} needs joblib: pip install 'milp-verix[sklearn]'") from None
    try:
        return joblib.load(path)
    except Exception as error:  # whatever the classes in it raise
        raise ModelError(f"cannot read {path}: {type(error).__name__}: {error}") from error


def named(network: LoadedModel, path: Path) -> LoadedModel:
    """Return the network with the name of the file that it comes from, a pickle's too."""
    return network if network.path is not None else replace(network, file_name=path.name)


def message_of(model: Any, given: str, add: str | None) -> "Message | None":
    """Return the message ``given``, or that in a .txt file, if ``model`` is a text pipeline.

    ``add`` are words that may be added, with commas between. Raises ``InputError`` for these
    before another model, and as :meth:`milp_verix.Message.of` does.
    """
    if not is_text_pipeline(model):
        if add is not None:
            raise InputError("--add is for words of a message, and this model reads no text")
        return None
    # all searches come with it, and other models need few of them
    from milp_verix.api.message import Message

    text = given
    if given.lower().endswith(".txt"):
        with refusing(f"cannot read {given}", OSError, UnicodeDecodeError):
            text = Path(given).read_text(encoding="utf-8").strip()
    words = [word.strip() for word in (add or "").split(",") if word.strip()]
    return Message.of(model, text, add=words)
