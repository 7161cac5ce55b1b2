# The image contains the binary, certificates and two empty folders, nothing else: no shell,
# no package manager, no user except 65532. It runs with a read-only root and without
# capabilities. Only `dev` writes to /data: mount a volume there. /media is the mount point of
# a volume with the files of videos (--blob-url=file:///media).
#
#   docker build --build-arg VERSION=$(git describe --tags 2>/dev/null | sed 's/^v//') -t ovation .
#   docker run --rm --read-only --cap-drop ALL -p 8080:8080 -v ovation:/data ovation dev
#
# The covers of videos need ffmpeg in `work` and `dev`; the target covers contains it:
#
#   docker build --target covers -t ovation-covers .
#   docker run --rm --read-only --cap-drop ALL --tmpfs /tmp -p 8080:8080 -v ovation:/data ovation-covers dev
#
# The health check runs the binary itself, which requests /readyz: ovation health. Load
# balancers and orchestrators request /readyz, or /healthz for liveness, over HTTP.

FROM --platform=$BUILDPLATFORM node:22-alpine@sha256:8094c002d08262dba12645a3b4a15cd6cd627d30bc782f53229a2ec13ee22a00 AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json ./
COPY web/client/package.json client/
RUN npm ci --no-audit --no-fund
COPY web ./
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26-alpine@sha256:7a3e50096189ad57c9f9f865e7e4aa8585ed1585248513dc5cda498e2f41812c AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=web /src/web/dist web/dist
ARG VERSION TARGETOS TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w ${VERSION:+-X main.version=$VERSION}" -o /out/ovation ./cmd/ovation \
    && mkdir -m 700 /out/data /out/media

FROM debian:12-slim@sha256:60eac759739651111db372c07be67863818726f754804b8707c90979bda511df AS covers
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates ffmpeg \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/media /media
COPY --from=build /out/ovation /ovation
USER 65532:65532
ENV OVATION_ADDR=0.0.0.0:8080 OVATION_DATA=/data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/ovation", "health"]
ENTRYPOINT ["/ovation"]
CMD ["work"]

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/media /media
COPY --from=build /out/ovation /ovation
USER 65532:65532
ENV OVATION_ADDR=0.0.0.0:8080 OVATION_DATA=/data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/ovation", "health"]
ENTRYPOINT ["/ovation"]
CMD ["serve"]
