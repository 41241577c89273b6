"""Volcano's Jobs: the controller, what it reads and writes, admission, and the plugins that a Job can name."""
