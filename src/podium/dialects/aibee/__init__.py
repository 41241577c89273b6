"""Ai-Scheduler: pools of nodes that lend what is idle, borrow from each other, and take back what is theirs."""
