"""Where a task can go: which rows fit, how good each is, and the best of them."""
