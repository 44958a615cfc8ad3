"""Charts as SVG: classes and no style in attributes, every value also as text. Pure."""
