"""Facts on a model that its library knew and ONNX does not say, kept in the model's metadata."""

import json
from dataclasses import asdict

import onnx

from milp_verix.base.errors import ModelError
from milp_verix.models.loaded_model import KnownFacts

FACTS_KEY = "milp_verix_facts"


def write_facts(model: onnx.ModelProto, facts: KnownFacts) -> None:
    """Store ``facts`` in the metadata of ``model``; nothing where there are none."""
    if facts != KnownFacts():
        model.metadata_props.add(key=FACTS_KEY, value=json.dumps(asdict(facts)))


def facts_of(model: onnx.ModelProto, classes: int) -> KnownFacts:
    """Return the facts stored in ``model``; ``classes`` is their number if it is a classifier.

    Raises ``ModelError`` for facts that :func:`write_facts` does not write.
    """
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
