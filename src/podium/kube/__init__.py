"""Speaking Kubernetes: wire types, quantities, selectors, patches, schemas, transport and reflectors.

Nothing in here decides anything; it is the language that the embedded server, the dialects and the runtime
share.  It knows no dialect and no scheduler.
"""
