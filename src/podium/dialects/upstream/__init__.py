"""Groups as Kubernetes itself has them."""
