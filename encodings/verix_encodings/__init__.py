"""Mixed-integer encodings of neural networks: the mathematics behind every check.

The package knows no solver and no ONNX. A network is data (:mod:`~verix_encodings.network`),
bounds are a function of a network and a box (:mod:`~verix_encodings.bounds`), an encoding is a
function from both to rows and columns (:mod:`~verix_encodings.program`).
"""

from verix_encodings.ball import l1_ball, l2_ball, l2_tangents, linf_ball, tangent_gaps
from verix_encodings.bounds import BoundMethod, Bounds, Interval, Region, interval_bounds
from verix_encodings.crown import crown_bounds
from verix_encodings.encode import BallEncoding, Encoding, encode
from verix_encodings.maxpool import big_m_max
from verix_encodings.mps import write_mps
from verix_encodings.network import Affine, Max, Network, Node, Relu, Smooth
from verix_encodings.norm_ball import NormBall
from verix_encodings.program import Expressions, Program, ProgramBuilder
from verix_encodings.relu import big_m_relu
from verix_encodings.slopes import slope_bounds
from verix_encodings.smooth import SMOOTH_FUNCTIONS, SmoothFunction

__all__ = [
    "SMOOTH_FUNCTIONS",
    "Affine",
    "BallEncoding",
    "BoundMethod",
    "Bounds",
    "Encoding",
    "Expressions",
    "Interval",
    "Max",
    "Network",
    "Node",
    "NormBall",
    "Program",
    "ProgramBuilder",
    "Region",
    "Relu",
    "Smooth",
    "SmoothFunction",
    "big_m_max",
    "big_m_relu",
    "crown_bounds",
    "encode",
    "interval_bounds",
    "l1_ball",
    "l2_ball",
    "l2_tangents",
    "linf_ball",
    "slope_bounds",
    "tangent_gaps",
    "write_mps",
]
