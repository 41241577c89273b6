"""The dashboard: the scheduler's model as small documents that follow it, and pages that show them.

    model, decision log --View--> rows --Feed--> frames --server-sent events--> pages (static/)

`view.py` and what it uses read the model and know no socket and no clock; `feed.py` keeps what was said for those
who listen; `access.py` says who may; `server.py` carries bytes.  The pages are plain files: no build step, nothing
from elsewhere.
"""
