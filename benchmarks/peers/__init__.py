"""What runs in a process of its own and is measured there: Handrail and its peers, all by the same loop."""
