"""Handrail walks AI coding agents through workflows they cannot skip, fake or lose."""

__version__ = "0.1.0"
