# podium as an image: the pinned dependencies and podium itself, for a user without rights.
#
#   make images REPOSITORY=<registry>/podium     builds it with podman, buildah or docker
#   make push   REPOSITORY=<registry>/podium
#
# tests/test_image.py carries the steps out without any of these, so keep to COPY, RUN, ENV, WORKDIR and USER.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /src
COPY requirements.lock ./
RUN python3 -m venv --without-pip /opt/podium
RUN python3 -m pip --python /opt/podium/bin/python install --no-cache-dir --no-compile --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples ./examples
RUN python3 -m pip --python /opt/podium/bin/python install --no-cache-dir --no-compile --no-deps --no-build-isolation .
# What was needed to build it is not needed to run it.
RUN python3 -m pip --python /opt/podium/bin/python uninstall --yes editables hatchling pathspec pluggy trove-classifiers
# The root file system cannot be written where it runs: compiled once, here.
RUN /opt/podium/bin/python -m compileall -q -j 0 /opt/podium/lib

FROM ${BASE}
COPY --from=build /opt/podium /opt/podium
ENV PATH=/opt/podium/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["podium"]
