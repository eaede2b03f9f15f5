"""Fail where a run of the tests misses most of a module: ``python tests/least_covered.py``.

It reads ``coverage.json``, which ``pytest --cov=milp_verix --cov=verix_encodings
--cov=verix_checker --cov-report=json`` leaves. What runs in other processes is not in it.
"""

import json
import sys
from pathlib import Path

LEAST = 50
"""Percent of the lines of a module."""
ELSEWHERE = {"milp_verix/__main__.py"}
"""Modules that run in processes of their own alone."""


def below(covered: dict[str, float]) -> list[tuple[float, str]]:
    """Return what is covered of each module that has less than ``LEAST`` percent, and its path."""
    few = [(share, path) for path, share in covered.items() if share < LEAST]
    return sorted(item for item in few if item[1] not in ELSEWHERE)


if __name__ == "__main__":
    files = json.loads(Path("coverage.json").read_text(encoding="utf-8"))["files"]
    found = below({path: file["summary"]["percent_covered"] for path, file in files.items()})
    sys.exit("\n".join(f"{path}: {share:.0f} % of its lines" for share, path in found) or None)
