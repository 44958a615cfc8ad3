"""The dashboard: pages on which a person watches runs and acts on them."""
