"""The shell: configuration, transports and processes around the machines that decide."""
