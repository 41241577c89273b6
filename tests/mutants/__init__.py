"""Are the tests any good?  Small mistakes are put into the code, one at a time; the room's tests have to notice.

    changes.py      the mistakes: what can be changed in a module, by its syntax tree
    covering.py     which tests call which function, so that a mistake costs seconds and not the whole room
    trying.py       one mistake in a process of its own, which imports the changed module; no file is touched
    __main__.py     rooms, sample, table

`make mutants`, or `python -m tests.mutants --seed 1 --count 200 --room core`.
"""
