"""Damaged files, and odd arguments of calls and commands: each is answered, or refused in words.

``python -m tests.fuzz --tries 100000`` makes tries from a seed that grows, in processes that may
die, and prints what is wrong: another exception, an error with a line of more than 400 characters,
a process that died, a limit that did not hold. It exits with 1 then. ``--only SEED`` tries
one again.
"""
