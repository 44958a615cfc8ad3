"""Store one run in the files of a folder; a crash at any instant loses nothing."""
