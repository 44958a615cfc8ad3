"""Load workflows from YAML: read, check and compile them."""
