"""The command line: one file for each command, printing apart from fetching."""
