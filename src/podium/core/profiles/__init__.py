"""Profiles: which plugins and actions there are, and what a configuration file makes of them."""
