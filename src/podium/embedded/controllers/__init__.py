"""Controllers of the built-in kinds that batch jobs need, each a pure reconcile()."""
