"""The public names, each from the module that has it: the only list of them."""

from .alpha import alpha_bounds as alpha_bounds, slope_bounds as slope_bounds
from .blocks.formulations import (
    FORMULATIONS as FORMULATIONS,
    Formulation as Formulation,
    ReluEncoding as ReluEncoding,
    formulation_named as formulation_named,
    partition_relu as partition_relu,
)
from .blocks.input_ball import (
    ball_encoding as ball_encoding,
    l1_ball as l1_ball,
    l2_ball as l2_ball,
    l2_tangents as l2_tangents,
    linf_ball as linf_ball,
    tangent_gaps as tangent_gaps,
)
from .blocks.layers import (
    big_m_max as big_m_max,
    big_m_relu as big_m_relu,
    general_max as general_max,
    general_relu as general_relu,
    indicator_relu as indicator_relu,
    sos1_relu as sos1_relu,
)
from .bounds.curves import (
    COS as COS,
    EXP as EXP,
    LOG as LOG,
    RECIPROCAL as RECIPROCAL,
    SIN as SIN,
    SMOOTH_FUNCTIONS as SMOOTH_FUNCTIONS,
    SQRT as SQRT,
    SQUARE as SQUARE,
    SmoothFunction as SmoothFunction,
    power as power,
)
from .bounds.interval import Bounds as Bounds, Interval as Interval, Region as Region
from .bounds.norm_ball import NormBall as NormBall
from .crown import crown_bounds as crown_bounds
from .deepening import branched_bounds as branched_bounds
from .encoding import (
    BallEncoding as BallEncoding,
    Encoding as Encoding,
    encode as encode,
    encode_values as encode_values,
)
from .interval_bounds import BoundMethod as BoundMethod, interval_bounds as interval_bounds
from .kinds.affine import Affine as Affine, Difference as Difference
from .kinds.elementwise import Curve as Curve, Relu as Relu, Smooth as Smooth, Step as Step
from .kinds.maximum import Max as Max, pairwise_maxima as pairwise_maxima
from .kinds.node import Elementwise as Elementwise, EncodingContext as EncodingContext, Node as Node
from .kinds.norm import Norm as Norm
from .kinds.product import Product as Product
from .kinds.softmax import Softmax as Softmax
from .network import Network as Network
from .program import (
    Expressions as Expressions,
    Program as Program,
    ProgramBuilder as ProgramBuilder,
)
from .program_files import (
    Indicator as Indicator,
    Maximum as Maximum,
    Sos1 as Sos1,
    write_lp as write_lp,
    write_mps as write_mps,
)
from .safe_bounds import Leaf as Leaf, certified_bound as certified_bound
