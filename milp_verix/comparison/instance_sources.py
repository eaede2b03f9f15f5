"""The models and checks that the instance library is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import milp_verix
from milp_verix.base.errors import refusing
from milp_verix.comparison.generated_models import Generated, generated
from milp_verix.models.onnx.onnx_network import loaded
from milp_verix.problem.problem import ProblemData, problem_of
from milp_verix.problem.search import Given

SIZES = ("small", "medium", "large", "huge")
LOGICAL = ("indicator", "sos1", "partition:2")
SHIPPED = Path(milp_verix.__file__).parents[1] / "examples"
"""Beside the package in a checkout; an installed package has none."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model with one input, and checks on it: some features are free, and then all.

    ``widths`` are those of :func:`generated`; a shipped model has none. ``formulations`` beside
    big-M are written for the first check.
    """

    kind: str
    size: str
    epsilon: float
    widths: tuple[int, ...] = ()
    formulations: tuple[str, ...] = ()
    norm: str = "linf"
    delta: float | None = None

    @property
    def name(self) -> str:
        """Such as ``"dense-small"``."""
        return "-".join((self.kind, *(self.norm,) * (self.norm != "linf"), self.size))

    @property
    def seed(self) -> int:
        """The seed of its random numbers, another one for each name."""
        return int.from_bytes(self.name.encode("ascii"), "big") % 2**32

    def made(self) -> Generated:
        """Return the model and an input; ``InputError`` for a shipped file that is not here."""
        if self.widths:
            return generated(self.kind, self.widths, self.seed)
        with refusing(f"cannot read the shipped model of {self.name}"):
            model = (SHIPPED / f"{self.kind}.onnx").read_bytes()
            images = np.load(SHIPPED / f"{self.kind}.npz")["images"]
        number = 15 if self.size == "small" else 10
        how = f"shipped with milp-verix: examples/{self.kind}.onnx and images[{number}]"
        return Generated(model, images[number:], how)

    def problem(self, made: Generated) -> ProblemData:
        """Return the question about the first input of ``made``."""
        given = Given(epsilon=self.epsilon, norm=self.norm, delta=self.delta)
        return problem_of(loaded(made.model), made.inputs[0], given)

    def checks(self, features: int) -> list[list[int]]:
        """Return the free features of each check."""
        order = np.random.default_rng(self.seed).permutation(features)
        return [sorted(order[: features * 5 // 8].tolist()), [*range(features)]]


def _of_kind(
    kind: str,
    widths: Sequence[tuple[int, ...]],
    epsilons: Sequence[float],
    formulations: Sequence[tuple[str, ...]] = ((), (), (), ()),
    delta: float | None = None,
) -> list[Source]:
    return [
        Source(kind, size, epsilon, width, also, delta=delta)
        for size, width, epsilon, also in zip(SIZES, widths, epsilons, formulations, strict=True)
    ]


CATALOGUE = (
    Source("digits", "small", 0.1, formulations=LOGICAL),
    Source("digits", "medium", 0.3),
    *_of_kind(
        "dense",
        [(16, 16), (32, 32), (48, 48), (256, 256, 256)],
        [0.1, 0.1, 0.1, 0.05],
        [LOGICAL, LOGICAL, LOGICAL, ("sos1",)],
    ),
    Source("dense", "small", 1.0, (16, 16), norm="l1"),
    Source("dense", "medium", 2.0, (32, 32), norm="l1"),
    *_of_kind(
        "residual",
        [(12, 12), (16, 16), (24, 24, 24), (64, 64, 64, 64)],
        [0.1, 0.1, 0.1, 0.05],
        [(), ("sos1",), ("indicator",), ()],
    ),
    *_of_kind(
        "pooled",
        [(2, 2), (3, 3), (4, 6), (12, 16)],
        [0.1, 0.1, 0.1, 0.1],
        [("sos1",), ("indicator",), (), ()],
    ),
    *_of_kind("smooth", [(8, 8), (12, 12), (20, 20), (64, 64)], [0.1, 0.1, 0.1, 0.1]),
    *_of_kind("forest", [(10, 4), (30, 6), (100, 8), (300, 10)], [0.15, 0.15, 0.2, 0.2]),
    *_of_kind("boosted", [(10, 4), (40, 6), (150, 8), (400, 9)], [0.15, 0.15, 0.2, 0.2], delta=0.1),
)
"""All sources, of ten patterns or digits on 8×8 pixels."""
