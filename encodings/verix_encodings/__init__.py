"""Mixed-integer encodings of neural networks: the mathematics behind every check.

The package knows no solver and no ONNX. A network is data (``verix_encodings.network``),
bounds are a function of a network and a box (``bounds.interval``), an encoding is a
function from both to rows and columns (:mod:`~verix_encodings.program`).
"""

from verix_encodings.alpha import alpha_bounds, slope_bounds
from verix_encodings.blocks.formulations import (
    FORMULATIONS,
    Formulation,
    ReluEncoding,
    formulation_named,
    partition_relu,
)
from verix_encodings.blocks.input_ball import (
    ball_encoding,
    l1_ball,
    l2_ball,
    l2_tangents,
    linf_ball,
    tangent_gaps,
)
from verix_encodings.blocks.layers import (
    big_m_max,
    big_m_relu,
    general_max,
    general_relu,
    indicator_relu,
    sos1_relu,
)
from verix_encodings.bounds.curves import (
    COS,
    EXP,
    LOG,
    RECIPROCAL,
    SIN,
    SMOOTH_FUNCTIONS,
    SQRT,
    SQUARE,
    SmoothFunction,
    power,
)
from verix_encodings.bounds.interval import Bounds, Interval, Region
from verix_encodings.bounds.norm_ball import NormBall
from verix_encodings.crown import crown_bounds
from verix_encodings.deepening import branched_bounds
from verix_encodings.encoding import BallEncoding, Encoding, encode, encode_values
from verix_encodings.interval_bounds import BoundMethod, interval_bounds
from verix_encodings.kinds.affine import Affine, Difference
from verix_encodings.kinds.elementwise import Curve, Relu, Smooth, Step
from verix_encodings.kinds.maximum import Max, pairwise_maxima
from verix_encodings.kinds.node import Elementwise, EncodingContext, Node
from verix_encodings.kinds.norm import Norm
from verix_encodings.kinds.product import Product
from verix_encodings.kinds.softmax import Softmax
from verix_encodings.network import Network
from verix_encodings.program import Expressions, Program, ProgramBuilder
from verix_encodings.program_files import Indicator, Maximum, Sos1, write_lp, write_mps
from verix_encodings.safe_bounds import Leaf, certified_bound

__all__ = [
    "COS",
    "EXP",
    "FORMULATIONS",
    "LOG",
    "RECIPROCAL",
    "SIN",
    "SMOOTH_FUNCTIONS",
    "SQRT",
    "SQUARE",
    "Affine",
    "BallEncoding",
    "BoundMethod",
    "Bounds",
    "Curve",
    "Difference",
    "Elementwise",
    "Encoding",
    "EncodingContext",
    "Expressions",
    "Formulation",
    "Indicator",
    "Interval",
    "Leaf",
    "Max",
    "Maximum",
    "Network",
    "Node",
    "Norm",
    "NormBall",
    "Product",
    "Program",
    "ProgramBuilder",
    "Region",
    "Relu",
    "ReluEncoding",
    "Smooth",
    "SmoothFunction",
    "Softmax",
    "Sos1",
    "Step",
    "alpha_bounds",
    "ball_encoding",
    "big_m_max",
    "big_m_relu",
    "branched_bounds",
    "certified_bound",
    "crown_bounds",
    "encode",
    "encode_values",
    "formulation_named",
    "general_max",
    "general_relu",
    "indicator_relu",
    "interval_bounds",
    "l1_ball",
    "l2_ball",
    "l2_tangents",
    "linf_ball",
    "pairwise_maxima",
    "partition_relu",
    "power",
    "slope_bounds",
    "sos1_relu",
    "tangent_gaps",
    "write_lp",
    "write_mps",
]
