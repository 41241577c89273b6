"""What an API server refuses of a well-typed object: the rules of the built-in kinds.

One module for each family of kinds; `pods` and what it is made of serve every kind that carries a pod template.
All of it is pure, works on documents that have passed the type check and the defaulting, and speaks in the API
server's words and field paths, since people look them up.
"""

from podium.schema.validation.metadata import validate_metadata
from podium.schema.validation.pods import validate_pod_spec, validate_pod_template
from podium.schema.validation.volumes import validate_volumes

__all__ = ["validate_metadata", "validate_pod_spec", "validate_pod_template", "validate_volumes"]
