"""A certificate, the content of a file that ``verix-check`` checks, and its claim as JSON has it.

Numbers are integers or texts such as "3/8", so that a reader gets them exactly.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.arguments import path_of
from milp_verix.base.comparable import Compared
from milp_verix.base.errors import InputError
from milp_verix.base.files import write_atomically
from milp_verix.base.number_text import counted
from milp_verix.problem.ball import Ball, make_ball
from milp_verix.problem.meeting import make_described_ball
from milp_verix.results.explanation import Explanation
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.mixed_domain import HalfSpace


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Compared):
    """A proof of an explanation that ``verix-check`` checks, or why there is none.

    ``data`` is the content of the file, None without a proof; then ``reason`` says why. ``needed``
    are the features that a point shows to be needed in exact arithmetic, ``unproven`` the other
    features of the explanation. ``bound`` is a cost that no explanation is below, an integer or the
    text of a ratio; None if nobody asked for the minimum, or it has no proof. ``seconds`` is the
    time it took. One that ``refutes`` a set has a point where the prediction changes, while the
    features of the set stay. ``about`` is "no_part" or "importance" in a
    certificate of such a result. ``model`` is the file that a certificate of trees is about.
    """

    data: Mapping[str, Any] | None
    reason: str | None
    needed: tuple[int, ...] = ()
    unproven: tuple[int, ...] = ()
    bound: int | str | None = None
    seconds: float = 0.0
    refutes: bool = False
    about: str | None = None
    model: bytes | None = None

    @property
    def model_name(self) -> str | None:
        """The name of the file of trees, which is written beside the certificate."""
        if self.model is None:
            return None
        return f"trees-{hashlib.sha256(self.model).hexdigest()[:16]}.json"

    @property
    def proven(self) -> bool:
        """True if there is a proof."""
        return self.data is not None

    def __str__(self) -> str:
        if self.data is None:
            return f"no certificate: {self.reason}"
        if self.refutes:
            return "certificate: the set does not keep the prediction"
        if self.about == "no_part":
            words = self.data["claim"]["no_part"]
            return f"certificate: features {words} play no part in any minimal explanation"
        if self.about == "importance":
            words = (
                "the brackets" if self.data["claim"]["importance"] else "the sets below brackets"
            )
            return f"certificate: {words} of importance"
        whole = len(self.needed) + len(self.unproven)
        shown = f"{len(self.needed)} of {counted(whole, 'feature')} {'is' if whole == 1 else 'are'}"
        text = f"certificate: the prediction is kept, and {shown} shown to be needed"
        if self.bound is not None:
            text += f"; no explanation costs less than {self.bound}"
        return "; ".join([text, *self.data.get("notes", ())])

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the content of the file, and write it to ``path`` if given.

        The file of trees is written beside it, as ``model_name``.
        Raises ``InputError`` if there is no proof, and for a path that cannot be written.
        """
        if self.data is None:
            raise InputError(f"there is no certificate to write: {self.reason}")
        text = json.dumps(self.data, separators=(",", ":"))
        if path is not None:
            target = path_of(path, "path")
            write_atomically(target, text)
            if self.model is not None:
                write_atomically(target.parent / str(self.model_name), self.model.decode())
        return text


_OTHER_POINTS = 64
"""The digits of a claim that points of a later search belong to."""


def claim_data(explanation: Explanation, output: str) -> dict[str, Any]:
    """Return the claim of ``explanation``; ``output`` names the tensor of the network's scores."""
    kept = explanation.prediction
    if explanation.delta is None:
        question: dict[str, Any] = {"class": kept}
        if explanation.against is not None:
            question["against"] = sorted(explanation.against)
    else:
        assert isinstance(kept, tuple)
        one = explanation.output
        outputs = list(range(len(kept))) if one is None else [one]
        question = {"delta": exact(explanation.delta), "outputs": outputs}
    return {
        "network": explanation.model.file,
        "sha256": explanation.model.sha256,
        "output": output,
        "input": [exact(entry) for entry in explanation.input.ravel().tolist()],
        "norm": explanation.norm,
        **_ball_data(explanation),
        "features": [list(group) for group in explanation.groups],
        "irrelevant": sorted(explanation.irrelevant),
        "minimal": False,
        **question,
    }


def ball_of(explanation: Explanation) -> Ball:
    """Return the ball that ``explanation`` is about."""
    x, norm = explanation.input, explanation.norm
    if explanation.inputs is None:
        return make_ball(x, explanation.epsilon, norm, explanation.domain)
    assert explanation.radii is not None
    return make_described_ball(x, explanation.radii, norm, explanation.inputs)


def exact(number: float | Fraction) -> int | str:
    """Return a number as an integer, or as the text of a ratio of integers."""
    above, below = number.as_integer_ratio()
    return above if below == 1 else f"{above}/{below}"


def numbers_of(entries: Sequence[int | str]) -> FloatArray:
    """Return exact numbers rounded to float64; the ratios have positive denominators."""
    ratios = (str(entry).partition("/") for entry in entries)
    return np.array([int(above) / int(below or 1) for above, _, below in ratios])


def bits_of(numbers: ArrayLike) -> int:
    """Return the most binary digits behind the point that a float needs, at least 1."""
    values = np.asarray(numbers)
    if values.dtype.kind != "f":
        return 1
    exponents = np.frexp(values[np.isfinite(values) & (values != 0)])[1]
    precision = np.finfo(values.dtype).nmant + 1
    return max(1, precision - int(exponents.min(initial=precision - 1)))


def question_bits(explanation: Explanation) -> int:
    """Return the bits behind the point of all numbers in the claim of ``explanation``."""
    numbers = [explanation.epsilon, explanation.delta or 0.0, *(explanation.radii or ())]
    mixed = None if explanation.inputs is None else explanation.inputs.mixed
    for half in chain.from_iterable(() if mixed is None else mixed.clauses):
        numbers += [half.upper, *half.coefficients.tolist()]
    points = [found.input for found in explanation.counterfactuals.values()]
    least = 1 if explanation.lower_bound is None and points else _OTHER_POINTS
    return max(least, *map(bits_of, [numbers, *explanation.domain, explanation.input, *points]))


def _ball_data(explanation: Explanation) -> dict[str, Any]:
    """Return radii and domain, and whole numbers, one-hot blocks and rules if there are any."""
    if explanation.inputs is None:
        domain = [_end(end) for end in explanation.domain]
        return {"epsilon": exact(explanation.epsilon), "domain": domain}
    ball = ball_of(explanation)
    assert ball.radii is not None
    ends = ball.radii, ball.domain_lower, ball.domain_upper
    radii, *domain = (_end(tuple(end.tolist())) for end in ends)
    data = {"epsilon": radii, "domain": domain}
    if ball.mixed is None:
        return data
    blocks = [block.tolist() for block in ball.mixed.blocks]
    rules = [[_row(half) for half in clause] for clause in ball.mixed.rules]
    whole = np.flatnonzero(ball.mixed.integral).tolist()
    return {**data, "whole": whole, "blocks": blocks, "rules": rules}


def _row(half: HalfSpace) -> dict[str, Any]:
    pairs = zip(half.coordinates.tolist(), half.coefficients.tolist(), strict=True)
    factors = {str(place): exact(factor) for place, factor in pairs}
    row: dict[str, Any] = {"factors": factors, "limit": exact(half.upper)}
    return {**row, "strict": True} if half.strict else row


def _end(end: float | tuple[float, ...]) -> Any:
    if isinstance(end, tuple):
        return [_end(one) for one in end]
    return exact(end) if np.isfinite(end) else None
