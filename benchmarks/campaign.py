"""Write what the campaign of random questions has tried so far, from its journal.

    python benchmarks/campaign.py JOURNAL --write campaign

``python -m tests.campaign --journal JOURNAL`` fills the journal.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tables import ROOT, add_write, write

sys.path.append(str(ROOT))
from tests.campaign.journal import read, seeds, table


def main(arguments: Sequence[str]) -> None:
    """Print the tables of a journal, and write them where that is asked."""
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("journal", type=Path)
    add_write(options)
    given = options.parse_args(arguments)
    cases = read(given.journal)
    tables = [f"Asked: {seeds(cases)}.", *(table(cases, by) for by in ("model", "question"))]
    print("\n\n".join(tables))
    if given.write:
        write(given.write, tables)


if __name__ == "__main__":
    main(sys.argv[1:])
