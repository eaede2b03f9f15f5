"""The minimum explanation: masters raise the lower bound, heuristics make the incumbent cheaper.

The order of reading: ``minimum``, the public function; ``search``, the state that all masters
share; ``explainer``, where the first explanation comes from; ``master``, the interface, and behind
it ``branch_and_cut`` with ``relaxation/``, ``separation`` and ``pricing/``, then ``enumeration/``,
which closes nodes by listing; last ``heuristics/`` and the two other masters.
"""
