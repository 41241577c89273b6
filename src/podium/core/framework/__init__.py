"""How plugins and actions take part in a turn: hooks, the session, statements, diagnosis."""
