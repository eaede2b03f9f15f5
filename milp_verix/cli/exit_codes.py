"""The exit codes of the command line; 0 is success."""

UNUSABLE = 2
UNDECIDED = 3
DISAGREEMENT = 4
INTERRUPTED = 130
