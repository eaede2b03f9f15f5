"""Check a certificate: ``python verix_check.py MODEL.onnx proof.json``.

This folder holds all that it needs, but for Python and the package ``onnx``.
"""

import sys

from verix_checker.command import main  # Python looks beside this file first

sys.exit(main())
