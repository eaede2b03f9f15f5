"""What every test may rely on."""

import signal

from hypothesis import settings

# a failure that comes and goes with the seed is no use to the one who finds it
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

# in the background of a shell Ctrl-C is ignored, and whatever the tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
