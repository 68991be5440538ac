# Headscape in a container: `docker build --tag headscape .`, then `docker compose up` or docs/serving.md.
# Debian's Python is updated with Debian, and the versions of requirements.lock were measured with Python 3.11. Another BASE is a
# Debian or an Ubuntu with Python 3.11 to 3.13.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS python
# Debian removes a package of a former security update: none can be named by its version.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates python3 \
  && rm -rf /var/lib/apt/lists/*

# Every package of the lock, checked by its hash, and torch: its build for CPUs, as in the Makefile without a hash.
FROM python AS wheels
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv \
  && rm -rf /var/lib/apt/lists/* && python3 -m venv /opt/pip
COPY requirements.lock /opt/pip/
RUN /opt/pip/bin/pip wheel --no-cache-dir --require-hashes --no-deps --wheel-dir=/wheels --requirement=/opt/pip/requirements.lock
ARG TORCH=torch==2.13.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN /opt/pip/bin/pip download --no-cache-dir --no-deps --dest=/wheels --index-url="$TORCH_INDEX" "$TORCH"

# Of these, what the extras need: no package of the tests. A change of the code leaves this layer as it is.
FROM wheels AS installed
WORKDIR /opt/headscape
ARG EXTRAS=dashboard,ingest,postgres
COPY pyproject.toml ./
RUN python3 -m venv --without-pip .venv && mkdir headscape store ingest dashboard && touch README.md LICENSE \
  && /opt/pip/bin/pip --python=.venv/bin/python install --no-cache-dir --no-index --find-links=/wheels ".[$EXTRAS]" setuptools
COPY README.md LICENSE ./
COPY headscape headscape
COPY store store
COPY ingest ingest
COPY dashboard dashboard
RUN /opt/pip/bin/pip --python=.venv/bin/python install --no-cache-dir --no-deps --no-build-isolation --editable . \
  && .venv/bin/python -m compileall -q headscape store ingest dashboard && rm -r build headscape.egg-info
# The server shows these pages.
COPY docs/*.md docs/
COPY docs/gallery docs/gallery

FROM python
COPY --from=installed /opt/headscape /opt/headscape
# What it writes: a store, the folder of access, and what may be lost (models of the hub, loops that numba has compiled).
RUN install --directory --owner=10001 --group=10001 --mode=0750 /data /state /cache
ENV PATH=/opt/headscape/.venv/bin:$PATH \
  PYTHONDONTWRITEBYTECODE=1 \
  HOME=/cache \
  HF_HOME=/cache/huggingface \
  NUMBA_CACHE_DIR=/cache/numba \
  HEALTH=http://127.0.0.1:8050/_healthz
USER 10001:10001
WORKDIR /data
EXPOSE 8050
# A server with --prefix=/heads is asked at HEALTH=http://127.0.0.1:8050/heads/_healthz.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(os.environ['HEALTH'], timeout=4)"]
ENTRYPOINT ["headscape"]
CMD ["serve", "--store=/data/store", "--host=0.0.0.0", "--auth=password", "--state=/state"]
