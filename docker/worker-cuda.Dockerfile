# The worker for NVIDIA GPUs (linux/amd64). CUDA 12 and cuDNN 9 come from the base image; the CUDA libraries of ONNX Runtime
# are added here.
#   docker build -f docker/worker-cuda.Dockerfile -t sluice-worker-cuda:0.1.0 .
#
# No npm package contains those libraries. The install script of onnxruntime-node downloads the NuGet package
# Microsoft.ML.OnnxRuntime.Gpu.Linux of the same version from api.nuget.org and extracts three files. If that host is not
# reachable, put libonnxruntime_providers_{shared,cuda}.so of the same version into docker/cuda-libraries/ (the wheel
# onnxruntime-gpu contains them) and build with `--build-arg CUDA_LIBRARIES=folder`.
ARG NODE_IMAGE=docker.io/library/node:22.21.1-bookworm-slim
ARG BASE_IMAGE=docker.io/nvidia/cuda:12.9.1-cudnn-runtime-ubuntu24.04
ARG CUDA_LIBRARIES=nuget

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY apps/console/package.json apps/console/
COPY examples/package.json examples/
COPY tools/prisma-internals/package.json tools/prisma-internals/
# No package needs its install scripts (package.json, allowScripts). The lockfile alone determines what is installed.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build.mjs

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
# The package.json files of the workspaces are missing on purpose: npm then installs nothing that only they need.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY docker/prune-packages.mjs docker/
ARG CUDA_LIBRARIES
COPY docker/cuda-libraries docker/cuda-libraries
COPY docker/install-cuda-libraries.mjs docker/
RUN node docker/install-cuda-libraries.mjs ${CUDA_LIBRARIES}
RUN node docker/prune-packages.mjs worker

FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sluice-worker-cuda" \
      org.opencontainers.image.description="Sluice: a worker that runs models on NVIDIA GPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# Audio and video are read and written by the ffmpeg of a package. `--build-arg FFMPEG=ffmpeg` adds that of Debian, which is
# used where it is newer.
ARG FFMPEG=
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates libstdc++6 tini ${FFMPEG} \
 && rm -rf /var/lib/apt/lists/* /var/log/* \
      /usr/lib/*-linux-gnu/dri /usr/lib/*-linux-gnu/libLLVM* /usr/lib/*-linux-gnu/libz3.so* \
 && if [ -n "${FFMPEG}" ]; then ffmpeg -loglevel error -f lavfi -i sine -t 0.1 -f null -; fi \
 && groupadd --gid 10001 sluice \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/sluice --create-home --shell /usr/sbin/nologin sluice
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/package.json /app/LICENSE /app/NOTICE ./
COPY --from=build /app/bin bin
COPY --from=build /app/docker/healthcheck.mjs docker/
COPY --from=build /app/models models
COPY --from=build /app/dist/libs dist/libs
COPY --from=build /app/dist/apps/worker dist/apps/worker
COPY --from=build /app/dist/apps/cli dist/apps/cli
RUN ln -s /app/bin/sluice.mjs /usr/local/bin/sluice
# As in the image of the api: buffers of media return to the system when they are freed. Model hosts get none of these.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=65536
ENV NODE_ENV=production SLUICE_HOME=/var/lib/sluice SLUICE_WORKER_HOST=0.0.0.0 SLUICE_PROVIDERS=cuda,cpu \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
EXPOSE 3001
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "docker/healthcheck.mjs", "3001"]
ENTRYPOINT ["tini", "--", "node"]
CMD ["dist/apps/worker/src/main.js"]
