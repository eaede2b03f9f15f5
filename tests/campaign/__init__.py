"""Random questions about random models over small finite domains, for hours: every answer is
compared with that of listing all points and running the model's own runtime on them.

``python -m tests.campaign --hours 2``, or ``make campaign HOURS=2``.
"""
