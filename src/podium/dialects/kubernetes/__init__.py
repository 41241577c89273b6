"""Plain pods, nodes and priority classes: what all API families stand on."""
