"""A server that stays: programs that a client starts hand their streams over to it, and answer at once.

Everything here is made of Python's own modules: whoever relays imports nothing else.
"""
