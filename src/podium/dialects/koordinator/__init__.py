"""Koordinator's gangs: pods that say by annotations or a PodGroup that they start together."""
