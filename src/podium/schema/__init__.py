"""What the fields of an object are: one model for the built-in kinds and for custom resources.

`model` is the tree of field types, `table` the compact notation in which this project writes the built-in kinds
down (under `kinds/`), `structural` reads and writes a CRD's OpenAPI schema, and `engine` does with either what
an API server does: find unknown fields, prune, fill in defaults, check types and values.  What depends on several
fields is code: `defaults` and `validation`.  All of it is what a server knows; a client needs none of it.
"""
