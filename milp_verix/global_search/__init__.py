"""The minimum explanation: masters, branch and cut, separation."""
