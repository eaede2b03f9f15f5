"""The sizes of the evaluation: ``small`` for ten minutes on two cores, ``full`` for the paper's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.paper.architectures import ARCHITECTURES


@dataclass(frozen=True, slots=True)
class Question:
    """A network, a ball, and how many of the first test images are explained.

    ``delta`` is the change of a regression's estimate that counts, in its unit; ``limit`` the
    seconds for an explanation.
    """

    network: str
    epsilon: float
    images: int
    delta: float | None = None
    limit: float = 60.0

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of :func:`milp_verix.explain`."""
        coloured = ARCHITECTURES[self.network].data == "gtsrb"
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "features": "pixels" if coloured else None,
            "time_limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Scale:
    """The questions of each table and figure.

    ``minimum_limit`` is the limit of a minimum in seconds. ``verix`` images of each question in
    ``beside_verix`` are explained by VeriX's loop on Marabou, too. ``signal`` images of each kind
    make a curve; ``adversarial`` pairs networks with those trained adversarially.
    """

    name: str
    networks: tuple[str, ...]
    complete: tuple[Question, ...]
    architectures: tuple[Question, ...]
    largest: tuple[Question, ...]
    explained: Question
    contrasts: Question
    radii: tuple[float, ...]
    orders: Question
    order_count: int
    runways: Question
    incomplete: Question
    signals: tuple[Question, ...]
    adversarial: tuple[tuple[str, str], ...]
    minimum_limit: float
    beside_verix: tuple[str, ...]
    verix: int

    def at_most(self, count: int) -> "Scale":
        """Return the scale with no more than ``count`` images for each question."""

        def less(question: Question) -> Question:
            return replace(question, images=min(count, question.images))

        def fewer(questions: tuple[Question, ...]) -> tuple[Question, ...]:
            return tuple(map(less, questions))

        return replace(
            self,
            complete=fewer(self.complete),
            architectures=fewer(self.architectures),
            largest=fewer(self.largest),
            explained=less(self.explained),
            orders=less(self.orders),
            order_count=min(2 * count, self.order_count),
            runways=less(self.runways),
            incomplete=less(self.incomplete),
            signals=fewer(self.signals),
            verix=min(count, self.verix),
        )


def small() -> Scale:
    """Return the scale of 8×8 digits, with networks that are there already."""
    return Scale(
        name="small",
        networks=tuple(name for name in ARCHITECTURES if name.startswith("digits-")),
        complete=(Question("digits-dense", 0.1, 50), Question("digits-dense-large", 0.1, 20)),
        architectures=tuple(
            Question(f"digits-{shape}", 0.1, 10) for shape in ("dense", "dense-large", "cnn")
        ),
        largest=(Question("digits-sota", 0.1, 10),),
        explained=Question("digits-cnn", 0.1, 6),
        contrasts=Question("digits-dense", 0.1, 1),
        radii=(1.0, 0.1, 0.05),
        orders=Question("digits-dense", 0.1, 10),
        order_count=30,
        runways=Question("digits-runway", 0.1, 6, delta=0.05),
        incomplete=Question("digits-sota", 0.1, 6),
        signals=(Question("digits-dense", 0.1, 50),),
        adversarial=(("digits-dense", "digits-adversarial"),),
        minimum_limit=5.0,
        beside_verix=("digits-dense",),
        verix=2,
    )


def full() -> Scale:
    """Return the scale of the paper; regressions may change by half a metre."""
    shapes = ("dense", "dense-large", "cnn")
    return Scale(
        name="full",
        networks=tuple(name for name in ARCHITECTURES if not name.startswith("digits-")),
        complete=(Question("mnist-dense", 0.05, 50), Question("gtsrb-sign-cnn", 0.005, 50)),
        architectures=(
            *(Question(f"mnist-{shape}", 0.03, 10) for shape in shapes),
            *(Question(f"taxinet-{shape}", 0.03, 10, delta=0.5) for shape in shapes),
            *(Question(f"gtsrb-{shape}", 0.03, 10) for shape in shapes),
        ),
        largest=(
            Question("mnist-sota", 0.03, 3, limit=40.0),
            Question("gtsrb-sota", 0.03, 3, limit=40.0),
        ),
        explained=Question("gtsrb-sign-cnn", 0.03, 6),
        contrasts=Question("mnist-dense", 0.05, 1),
        radii=(1.0, 0.1, 0.05),
        orders=Question("mnist-dense", 0.05, 10),
        order_count=100,
        runways=Question("taxinet-runway", 0.03, 6, delta=0.5),
        incomplete=Question("mnist-sota", 0.03, 3, limit=40.0),
        signals=(Question("mnist-dense", 0.05, 50), Question("gtsrb-sign-cnn", 0.005, 50)),
        adversarial=(("mnist-dense", "mnist-adversarial"), ("gtsrb-sign-cnn", "gtsrb-adversarial")),
        minimum_limit=10.0,
        beside_verix=("mnist-dense",),
        verix=1,
    )


SCALES: dict[str, Callable[[], Scale]] = {"small": small, "full": full}
