"""Being Kubernetes: an API server with simulated nodes and the built-in controllers, in one process.

Generic: it knows no dialect.  Admission functions and custom resource definitions are handed to it.
"""
