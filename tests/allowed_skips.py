"""The skips that CI lets pass, each with its reason: with ``--strict-skips`` any other one fails.

A test that skips where it should run can't fail, and nobody sees it. On a machine with fewer
solvers, or without the published files beside the checkout, tests skip by name as they always did.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.browser import NO_BROWSER, why_not
from tests.support.published_data import SHARED


@dataclass(frozen=True, slots=True)
class Allowed:
    """Skips whose whole message ``pattern`` matches; ``why`` they may be."""

    pattern: str
    why: str


ALLOWED = [
    Allowed(
        r"PuLP does not find '(COIN_CMD|GLPK_CMD)' here; .*",
        "no package on PyPI brings these binaries; what is asked of them, others are asked, too",
    ),
    Allowed(
        r"(PyTorch|Keras) is not installed",
        "its packages take gigabytes; .ci/run installs them later, for the tests that need them",
    ),
    Allowed(
        r"(xpress|coptpy|cplex|glpsol) is not installed",
        "optional readers of programs, some with licences of their own; others read, too",
    ),
    Allowed(
        r"(solver '\w+': )?(xpress|coptpy|cplex|ortools) does not import .*",
        "optional solvers with licences of their own; .ci/run installs them later, for their tests",
    ),
    Allowed(
        r"Pyomo does not find 'appsi_cbc' here; .*",
        "no package on PyPI brings these binaries; what is asked of them, others are asked, too",
    ),
    Allowed(
        r"a package of the extra rivals is not installed",
        "Anchors asks for spaCy, which is large, and only a table of the benchmarks needs it",
    ),
    Allowed(
        r"onnxruntime has no Erf or Softplus of float64",
        "there is nothing to compare with; the chains with them are compared in float32",
    ),
]
WITHOUT_BROWSER = Allowed(
    re.escape(NO_BROWSER),
    "no package on PyPI brings a browser; .ci/run installs Debian's where it may",
)
WITHOUT_SHARED = Allowed(
    r"the published file \S+ is not here",
    "the project works without the folder of published networks and images",
)


def allowed_here() -> list[Allowed]:
    """Return what may be skipped: for want of files or a browser only where there are none."""
    return [
        *ALLOWED,
        *([] if SHARED.is_dir() else [WITHOUT_SHARED]),
        *([WITHOUT_BROWSER] if why_not() else []),
    ]


def not_allowed(messages: Iterable[str], allowed: Iterable[Allowed]) -> list[str]:
    """Return the ``messages`` of skips that none of ``allowed`` matches, each once."""
    patterns = [re.compile(item.pattern, re.DOTALL) for item in allowed]
    said = dict.fromkeys(message.removeprefix("Skipped: ") for message in messages)
    return [text for text in said if not any(p.fullmatch(text) for p in patterns)]
