"""Anchors beside ours on two images, each with the input that refutes Anchors' pixels."""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import milp_verix
from benchmarks.paper.figures.panels import Panel, panels
from benchmarks.paper.rival_runs import Run, run_rivals
from benchmarks.paper.workplace import Workplace
from milp_verix.views.feature_status import Status
from milp_verix.views.image_view import overlay
from milp_verix.views.style import Drawing

_SIGN = "keep right"
_TRIED, _SHOWN = 8, 2
_METHODS = {"sensitivity": "ours", "anchors": "Anchors"}


def rivals(place: Workplace) -> Drawing | None:
    """Draw ours, Anchors' pixels, and an input in the ball that keeps them and flips the class.

    Images are predicted right, of traffic signs "keep right"; those where an input flips it come
    first. None where Anchors is not installed.
    """
    if find_spec("anchor") is None:
        return None
    question = place.scale.explained
    data = place.data_of(question.network)
    predicted = place.outputs(question.network, data.test.images).argmax(axis=1)
    right = predicted == data.test.targets
    if _SIGN in data.classes:
        right &= predicted == data.classes.index(_SIGN)
    chosen = np.flatnonzero(right)[: min(_TRIED, max(_SHOWN, question.images))]
    network = place.network(question.network)
    turned = data.test.images.transpose(0, 2, 3, 1)
    runs = run_rivals(
        network,
        turned[chosen],
        turned[~right],
        question.epsilon,
        place.out / "journals" / "figure-rivals",
        name=question.network,
        methods=list(_METHODS),
    )
    found = {(run.image, run.method): run for run in runs}
    refutable = [k for k in range(len(chosen)) if found[k, "anchors"].answer == "violated"]
    others = [k for k in range(len(chosen)) if k not in refutable]
    rows = []
    for k in [*refutable, *others][:_SHOWN]:
        image = turned[chosen[k]]
        row = [Panel(_colours(image), data.classes[int(predicted[chosen[k]])])]
        for method, name in _METHODS.items():
            run = found[k, method]
            text = f"{name}: {run.size} pixels\n{_told(run)}"
            row.append(Panel(_marked(image, run.features), text))
        x, pixels = data.test.images[chosen[k]], _mask(image, found[k, "anchors"].features)
        audit = milp_verix.audit(
            network, x, pixels, epsilon=question.epsilon, features="pixels", sound_only=True
        )
        flip = audit.counterexample
        if flip is None:
            row.append(Panel(np.ones((*image.shape[:2], 3)), "no input refutes it"))
        else:
            label = data.classes[int(flip.prediction)]  # type: ignore[arg-type]
            picture = _colours(flip.input.reshape(data.shape).transpose(1, 2, 0))
            row.append(Panel(picture, f"keeps Anchors' pixels,\nis {label}"))
        rows.append(row)
    told = f"Anchors' pixels are refuted on {len(refutable)} of {len(chosen)} such images"
    subtitle = f"{question.network}, ε = {100 * question.epsilon:g} %; {told}"
    return panels(rows, "Anchors beside ours", subtitle, {Status.EXPLANATION})


def _told(run: Run) -> str:
    return {"holds": "proven", "violated": "refuted"}.get(run.answer, "undecided")


def _colours(image: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.repeat(image.astype(np.float64), 3 // image.shape[2], axis=2)


def _mask(image: NDArray[np.float32], pixels: list[int]) -> NDArray[np.bool_]:
    mask = np.zeros(image.shape[:2], dtype=bool)
    mask.reshape(-1)[pixels] = True
    return mask


def _marked(image: NDArray[np.float32], pixels: list[int]) -> NDArray[np.float64]:
    mask = _mask(image, pixels)
    return overlay(_colours(image), mask, np.zeros_like(mask))
