"""The words: tasks, gangs, queues and nodes as plain data, what is asked of nodes, and what can be decided."""
