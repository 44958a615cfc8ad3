"""The tabs of the page of a run: one module each."""
