"""The exit codes of the command line; 0 is success."""

NOT_SOUND = 1
UNUSABLE = 2
UNDECIDED = 3
DISAGREEMENT = 4
INTERRUPTED = 130
