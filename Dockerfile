# Two stages: the first makes an environment with nothing but pip, the second only carries it.
# tests/test_build.py runs the first stage's ENV, COPY and RUN lines as they stand, without Docker.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
ENV VENV=/opt/citeward
RUN python3 -m venv "$VENV"
# A layer of its own: by far the largest, and it changes least.
COPY requirements/torch.sh requirements/
RUN sh requirements/torch.sh "$VENV/bin/python" "$VENV/torch.txt"
COPY pyproject.toml README.md LICENSE ./
COPY ingest ingest
COPY service service
RUN "$VENV/bin/python" -m pip wheel --quiet --no-deps --wheel-dir dist . \
    && "$VENV/bin/python" -m pip install --quiet --constraint "$VENV/torch.txt" "$(echo dist/citeward-*.whl)[cpu]"

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --create-home citeward && install --directory --owner=citeward /data
COPY --from=build /opt/citeward /opt/citeward
ENV PATH=/opt/citeward/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CITEWARD_HOME=/data \
    CITEWARD_HOST=0.0.0.0
USER 10001
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
CMD ["citeward", "serve"]
