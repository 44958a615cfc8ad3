"""The journal: what is written down of a run, and what is measured from it. Pure."""
