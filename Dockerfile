# syntax=docker/dockerfile:1
#
# The program as an image: the page, then the program that contains it, then the program alone with what it is linked to:
# there is no shell, and no other system.
#
#   docker build -t gailou .
#   docker run -d --name gailou -p 127.0.0.1:8080:8080 -v gailou:/var/lib/gailou -e GAILOU_SITES=https://blog.example gailou
#
# It runs as the user 65532 and keeps everything in the volume /var/lib/gailou. Commands run in the container of the
# server, which has the data: docker exec gailou gailou doctor

# The page: as `build_web` of scripts/lib.sh.
FROM node:22-bookworm-slim AS page
WORKDIR /src
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/var/cache/npm \
    npm ci --ignore-scripts --no-audit --no-fund --cache /var/cache/npm
COPY edge/web edge/web
COPY packages/client/src packages/client/src
COPY docs docs
RUN npm run --silent build

# The program: as `build_origin release` of scripts/build.sh. The dependencies and what was compiled before are in
# caches, so a change of the code compiles the code alone.
FROM rust:1-bookworm AS program
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY migrations migrations
COPY shared shared
COPY edge edge
COPY packages/rust packages/rust
COPY tests tests
COPY origin origin
COPY --from=page /src/edge/web/dist edge/web/dist
ARG TARGETARCH
# All crates are optimised as one, which takes 3 GB of memory and much longer, and makes the program 13 MB smaller.
ENV CARGO_PROFILE_RELEASE_LTO=fat \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
# Without the names of functions, which a program of `make build` keeps: the image is smaller, and a panic names its line.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,id=gailou-target-${TARGETARCH},target=/src/target,sharing=locked \
    cargo build --locked --profile release --package gailou --bin gailou --features kafka-tls-vendored \
    && install -D -s target/release/gailou /image/usr/local/bin/gailou \
    && install -d -m 0700 /state/gailou \
    && ldd target/release/gailou | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory=/image \
    && cp --parents /etc/ssl/certs/ca-certificates.crt /image
COPY LICENSE-APACHE LICENSE-MIT /image/usr/share/doc/gailou/

FROM scratch
LABEL org.opencontainers.image.title="Gailou" \
      org.opencontainers.image.description="A comment system: one program over SQLite, or a cluster over MySQL, Redis and Kafka" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=program /image /
# Its folder, because COPY takes the mode and the owner of what is in a folder, not of the folder itself.
COPY --from=program --chown=65532:65532 /state /var/lib
ENV GAILOU_BIND=0.0.0.0:8080 \
    GAILOU_DATA=/var/lib/gailou
USER 65532:65532
VOLUME /var/lib/gailou
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/gailou", "health"]
ENTRYPOINT ["/usr/local/bin/gailou"]
