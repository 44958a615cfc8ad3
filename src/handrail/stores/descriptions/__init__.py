"""Descriptions kept by version control: the text of a commit of jj, or of a ref of git."""
