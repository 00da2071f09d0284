# The package with its simulator: docker build -t ascend_rt . && docker run --rm ascend_rt ascend-rt demo
FROM python:3.12-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . ./measure

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
# hadolint ignore=DL3013
RUN pip install --no-cache-dir "$(echo /wheels/ascend_rt-*.whl)[cli]" /wheels/ascend_rt_measure-*.whl && rm -r /wheels
RUN useradd --create-home --uid 1000 user
USER 1000
WORKDIR /home/user
ENV ASCEND_RT_BACKEND=sim
CMD ["python"]
