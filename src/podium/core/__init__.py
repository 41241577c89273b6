"""The scheduler's own world: nodes as columns, tasks, gangs and queues.  Knows no Kubernetes and no API family.

Everything in here is a function of what it is given: no IO, no clock, no dice.
"""
