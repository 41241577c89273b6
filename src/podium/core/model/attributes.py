"""What a gang may say of itself for plugins that mind it (`Gang.attributes`): names, and what the values are."""

from __future__ import annotations

PLACEMENT_POLICY = "placementPolicy"  # where its tasks are to go: a word that plugins are configured for
QUEUE_POLICY = "queuePolicy"  # how it stands in line: Priority or DRF
ROLES = "roles"  # the roles of its tasks in the order in which they are placed, separated by commas
MINIMUM_FIELD = "minimumField"  # where its users say how many start together, for messages
TOGETHER_FIELD = "togetherField"  # where they name the gangs that start with it
WAITING_SINCE = "waitingSince"  # since when it waits for the places that it needs, in seconds
