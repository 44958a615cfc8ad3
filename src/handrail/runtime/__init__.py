"""Run one turn: load, gather, decide, resolve, commit, reply.

Start with `turn.py`. The stores, the clock and other programs are behind the protocols in `ports`.
"""
