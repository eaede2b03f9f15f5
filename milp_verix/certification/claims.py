"""The claim of an explanation, and points that show its features to be needed, as JSON has them.

Numbers are integers or texts such as "3/8", so that a reader gets them exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.records.explanation import Explanation


def claim_data(explanation: Explanation, output: str) -> dict[str, Any]:
    """Return the claim that the irrelevant features of ``explanation`` keep the prediction.

    ``output`` names the tensor of the network's scores.
    """
    kept = explanation.prediction
    if explanation.delta is None:
        asked: dict[str, Any] = {"class": kept}
        if explanation.against is not None:
            asked["against"] = sorted(explanation.against)
    else:
        assert isinstance(kept, tuple)
        one = explanation.output
        outputs = list(range(len(kept))) if one is None else [one]
        asked = {"delta": exact(explanation.delta), "outputs": outputs}
    return {
        "network": explanation.model.file,
        "sha256": explanation.model.sha256,
        "output": output,
        "input": [exact(entry) for entry in explanation.input.ravel().tolist()],
        "epsilon": exact(explanation.epsilon),
        "norm": explanation.norm,
        "domain": [_end(end) for end in explanation.domain],
        "features": [list(group) for group in explanation.groups],
        "irrelevant": sorted(explanation.irrelevant),
        **asked,
    }


def points_of(explanation: Explanation) -> dict[int, dict[str, int | str]]:
    """Return the counterfactual of each feature: its coordinates that differ from the input."""
    original = explanation.input.ravel()
    return {
        feature: _moved(found.input.ravel(), original)
        for feature, found in sorted(explanation.counterfactuals.items())
    }


def exact(number: float) -> int | str:
    """Return a number as an integer, or as the text of a ratio of integers."""
    above, below = float(number).as_integer_ratio()
    return above if below == 1 else f"{above}/{below}"


def bits_of(numbers: ArrayLike) -> int:
    """Return as many binary digits behind the point as none of the floats needs more; at least 1.

    Integers and infinite numbers need none.
    """
    values = np.asarray(numbers)
    if values.dtype.kind != "f":
        return 1
    exponents = np.frexp(values[np.isfinite(values) & (values != 0)])[1]
    precision = np.finfo(values.dtype).nmant + 1
    return max(1, precision - int(exponents.min(initial=precision - 1)))


def _moved(point: NDArray[Any], original: NDArray[Any]) -> dict[str, int | str]:
    places = np.flatnonzero(point != original).tolist()
    return {str(place): exact(point[place]) for place in places}


def _end(end: float | tuple[float, ...]) -> Any:
    if isinstance(end, tuple):
        return [_end(one) for one in end]
    return exact(end) if np.isfinite(end) else None
