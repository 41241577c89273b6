"""The state: nodes as columns, who is where, what is free, and what every queue holds."""
