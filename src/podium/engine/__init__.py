"""The scheduler as one machine without IO: events and time in, effects out.

The runtime drives it by asyncio against an API server, the simulator by an event heap against a store in memory.
Neither contains a decision.
"""
