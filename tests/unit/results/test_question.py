"""Two results answer one question, or it is told in which part their questions differ."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from milp_verix import Inputs, continuous, integer
from milp_verix.results.base import difference_of
from tests.support.handmade_results import made

TABLE = Inputs([integer("age", 18, 75), continuous("wage", 0, 90)], class_names=["no", "yes", "x"])
X = np.array([40, 30.5])
BASE = made((2,), x=X, inputs=TABLE, radii=(5.0, 9.0), feature_names=TABLE.names)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"input": np.array([41, 30.5], dtype=np.float32)}, "input differs"),
        ({"model": replace(BASE.model, content_sha256="0" * 64)}, "network's SHA-256 differs"),
        ({"prediction": 1}, "prediction is 2, now it is 1"),
        ({"epsilon": 3.0}, "epsilon is 0.1, now it is 3.0"),
        ({"radii": (5.0, 8.0)}, "radii is (5.0, 9.0), now it is (5.0, 8.0)"),
        ({"against": (0,)}, "against is None, now it is (0,)"),
        ({"inputs": TABLE.only({"age": "up"})}, "directions is (None, None), now it is ('up',"),
        ({"inputs": TABLE.where("age >= 20")}, "rules is (), now it is ('age >= 20',)"),
        ({"inputs": Inputs(TABLE.features, class_names=["a", "b", "c"])}, "list of classes is"),
        (
            {"inputs": Inputs([integer("age", 18, 76), TABLE.features[1]])},
            "list of classes is ('no', 'yes', 'x'), now it is ()",
        ),
    ],
)
def test_each_part_of_a_question_counts(change: dict[str, Any], name: str) -> None:
    other = replace(BASE, **change)
    told = difference_of(BASE, other)
    assert told.startswith(name), told
    part = told.partition(" is ")[0].removesuffix(" differs")
    assert part not in difference_of(BASE, other, (part,))


def test_what_is_no_part_of_a_question_may_differ() -> None:
    model = replace(BASE.model, file="renamed.onnx")
    other = replace(BASE, model=model, solver="highs", notes=("a note",))
    assert difference_of(BASE, other) == ""
    plain = made((2,), x=X, domain=(0.0, 90.0))
    assert difference_of(plain, replace(plain, domain=(0.0, 80.0))).startswith("domain is")
    assert difference_of(plain, BASE, ("radii",)).startswith(
        "domain is (0.0, 90.0), now it is None"
    )
    wider = replace(plain, epsilon=9.0)  # the description of radii that one has alone comes last
    assert difference_of(BASE, wider) == "epsilon is 0.1, now it is 9.0"
