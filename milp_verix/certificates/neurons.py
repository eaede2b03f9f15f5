"""The neurons of a claim, as the checker reads them, as a network with bounds in float64.

What a search over this network finds is proven by the checker alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milp_verix.certificates.reading import RoundedClaim, rounded_network
from verix_checker.claim import Claim
from verix_encodings import Interval, NormBall
from verix_encodings.arrays import FloatArray
from verix_encodings.bounds.one_hot_box import one_hot_box
from verix_encodings.propagation.interval_bounds import forward_interval

Ends = tuple[list[Any], list[Any]]
"""The lower and upper ends of the checker's variables."""


def rounded_claim(claim: Claim, margins: Sequence[int], ends: Ends | None = None) -> RoundedClaim:
    """Return the network of the ``margins`` with these numbers, its region and bounds.

    ``ends`` are those of all variables, the claim's own by default.
    """
    network, variables = rounded_network(claim.net, [claim.margins[one] for one in margins])
    size = claim.net.size
    low, high = (_scaled(end, claim.one) for end in ends or (claim.low, claim.high))
    box = Interval(low[1 : size + 1], high[1 : size + 1])
    bounds = [box]
    for layer in claim.net.layers:
        z = Interval(low[layer], high[layer])
        bounds += [z, Interval(np.maximum(z.lower, 0.0), np.maximum(z.upper, 0.0))]
    bounds += [forward_interval(network.nodes[-1], box, bounds, len(network.nodes))]
    blocks = [np.array(block) - 1 for block in claim.ball.blocks]
    region: Interval | NormBall = one_hot_box(box, blocks)
    if claim.ball.norm:
        centre = np.clip(_scaled(claim.ball.x, claim.one)[1:], box.lower, box.upper)
        region = NormBall(box, centre, claim.ball.epsilon / claim.one, claim.ball.norm)
    return RoundedClaim(network, region, tuple(bounds), variables)


def _scaled(numbers: Sequence[int], one: int) -> FloatArray:
    return np.array([number / one for number in numbers], dtype=np.float64)
