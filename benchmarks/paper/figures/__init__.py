"""The figures of the evaluation: functions from a workplace to a drawing, by name."""

from collections.abc import Callable

from benchmarks.paper.figures.explained import explained, incomplete, runways
from benchmarks.paper.figures.orders import orders
from benchmarks.paper.figures.radii import radii
from benchmarks.paper.figures.rivals import rivals
from benchmarks.paper.figures.ruled_out import ruled_out
from benchmarks.paper.figures.signal import signal
from benchmarks.paper.workplace import Workplace
from milp_verix.views.style import Drawing

FIGURES: dict[str, Callable[[Workplace], Drawing | None]] = {
    "explained": explained,
    "ruled-out": ruled_out,
    "radii": radii,
    "orders": orders,
    "rivals": rivals,
    "runways": runways,
    "incomplete": incomplete,
    "signal": signal,
}
