"""Parse and edit the texts that people and agents write. Pure: nothing here touches the disk."""
