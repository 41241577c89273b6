"""Nodes that run pods: the simulated kubelets, as a state machine without a clock."""
