"""podium: a batch scheduler for AI jobs on Kubernetes.  ARCHITECTURE.md is the map of this package."""

__version__ = "0.1.0"
