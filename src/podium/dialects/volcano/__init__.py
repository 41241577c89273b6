"""Volcano's API family: PodGroups and Queues of scheduling.volcano.sh, Commands of bus.volcano.sh."""
