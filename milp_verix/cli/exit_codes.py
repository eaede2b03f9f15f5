"""What the command line's exit codes mean; 0 is success."""

UNUSABLE = 2
UNDECIDED = 3
DISAGREEMENT = 4
INTERRUPTED = 130
