"""The question that a result answers, and where the questions of two results differ."""

from dataclasses import replace
from typing import Any

from milp_verix.results.records.base import array_hash


def question_of(asked: Any) -> dict[str, object]:
    """Return the parts of a question by their names in messages, as values that can be compared.

    ``asked`` is a result, or an object with such fields. Names of files are no part of it.
    """
    model, x, inputs = asked.model, asked.input, asked.inputs
    found: dict[str, object] = {
        "network's SHA-256": model.content_sha256,
        "network's input shape": model.input_shape,
        "input": f"{x.dtype} {array_hash(x)}",
    }
    if inputs is not None:
        found |= {
            "list of classes": inputs.class_names,
            "list of features": inputs.names,
            # contrasts alone keep to directions
            "description": ([replace(one, only=None) for one in inputs.features], inputs.passage),
            "rules": tuple(rule.text for rule in inputs.rules),
            "directions": tuple(feature.only for feature in inputs.features),
        }
    names = ("prediction", "epsilon", "norm", "delta", "output", "against", "radii")
    found |= {name: getattr(asked, name) for name in names}
    if inputs is None:  # else the domain is that of the description, and of directions
        found["domain"] = asked.domain
    return {**found, "division into features": asked.groups}


def difference_of(before: Any, after: Any, but: tuple[str, ...] = (), word: str = "now") -> str:
    """Return where two questions differ: ``"epsilon is 0.1, now it is 0.2"``; empty if nowhere.

    ``but`` are names of parts that are not compared; ``word`` says which the second question is.
    """
    first, second = question_of(before), question_of(after)
    for name in [*first, *(name for name in second if name not in first)]:
        one, other = first.get(name), second.get(name)
        if name not in but and one != other:
            texts = f"is {one}", f"{word} it is {other}"
            return f"{name} {', '.join(texts) if max(map(len, texts)) < 60 else 'differs'}"
    return ""
