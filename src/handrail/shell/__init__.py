"""The only place where something happens: plain synchronous code."""
