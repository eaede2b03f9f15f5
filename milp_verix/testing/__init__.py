"""Tests for solvers of one's own: :func:`check_solver`, and pytest's ``--milp-verix-solver``."""

import lazy_loader

# pytest imports this package each time that it starts
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
