"""``python -m milp_verix``: the command line without the script."""

from milp_verix.cli import main

main()
