from .conformance import (
    Conformance as Conformance,
    Failure as Failure,
    check_solver as check_solver,
)
