"""What `kubectl get` prints of the built-in kinds: one module for each family, one printer for each kind."""
