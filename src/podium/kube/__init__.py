"""Speaking Kubernetes: what a client needs: wire types, quantities, selectors, transport and reflectors.

Nothing in here decides anything; it is the language that the embedded server, the dialects and the runtime
share.  It knows no dialect and no scheduler.
"""
