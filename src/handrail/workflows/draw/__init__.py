"""A workflow as a picture: Mermaid, DOT and SVG text. Pure."""
