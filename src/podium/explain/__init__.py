"""Answers to what people ask of a scheduler: why something waits, what would help, who runs, what is free.

Everything here is pure: the objects of a cluster and a time go in, structs come out.  Commands, the Python client
and pages print them.
"""
