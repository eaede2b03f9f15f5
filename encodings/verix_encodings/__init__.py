"""Mixed-integer encodings of neural networks: the mathematics behind every check.

The package knows no solver and no ONNX. A network is data (:mod:`~verix_encodings.network`),
bounds are a function of a network and a box (:mod:`~verix_encodings.bounds`), an encoding is a
function from both to rows and columns (:mod:`~verix_encodings.program`).
"""

from verix_encodings.ball import (
    ball_encoding,
    l1_ball,
    l2_ball,
    l2_tangents,
    linf_ball,
    tangent_gaps,
)
from verix_encodings.bounds import BoundMethod, Bounds, Interval, Region, interval_bounds
from verix_encodings.certificate import Leaf, certified_bound
from verix_encodings.crown import crown_bounds
from verix_encodings.encode import BallEncoding, Encoding, encode, encode_values
from verix_encodings.formulations import (
    FORMULATIONS,
    Formulation,
    ReluEncoding,
    formulation_named,
)
from verix_encodings.logic import Indicator, Sos1
from verix_encodings.lp import write_lp
from verix_encodings.maxpool import big_m_max
from verix_encodings.mps import write_mps
from verix_encodings.network import Affine, Max, Network, Node, Relu, Smooth
from verix_encodings.norm_ball import NormBall
from verix_encodings.program import Expressions, Program, ProgramBuilder
from verix_encodings.relu import big_m_relu
from verix_encodings.relu_indicator import indicator_relu
from verix_encodings.relu_partition import partition_relu
from verix_encodings.relu_sos1 import sos1_relu
from verix_encodings.slopes import slope_bounds
from verix_encodings.smooth import SMOOTH_FUNCTIONS, SmoothFunction

__all__ = [
    "FORMULATIONS",
    "SMOOTH_FUNCTIONS",
    "Affine",
    "BallEncoding",
    "BoundMethod",
    "Bounds",
    "Encoding",
    "Expressions",
    "Formulation",
    "Indicator",
    "Interval",
    "Leaf",
    "Max",
    "Network",
    "Node",
    "NormBall",
    "Program",
    "ProgramBuilder",
    "Region",
    "Relu",
    "ReluEncoding",
    "Smooth",
    "SmoothFunction",
    "Sos1",
    "ball_encoding",
    "big_m_max",
    "big_m_relu",
    "certified_bound",
    "crown_bounds",
    "encode",
    "encode_values",
    "formulation_named",
    "indicator_relu",
    "interval_bounds",
    "l1_ball",
    "l2_ball",
    "l2_tangents",
    "linf_ball",
    "partition_relu",
    "slope_bounds",
    "sos1_relu",
    "tangent_gaps",
    "write_lp",
    "write_mps",
]
