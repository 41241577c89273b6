"""Virtual time: the scheduler over a cluster that exists in memory only, with real traces as its users."""
