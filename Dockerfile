# The command difalt in an image of its own, with the licences of what it contains and nothing else.
#
#	docker build -t difalt .                            the default build
#	docker build -t difalt --target openblas .          with OpenBLAS, statically linked
#	docker run --rm difalt
#	docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/out:/out" difalt simulate --out /out
#	docker run -v "$PWD/cluster.json:/etc/difalt/cluster.json:ro" -v "$PWD/a.key:/etc/difalt/node.key:ro" \
#	    --user "$(id -u):$(id -g)" -v "$PWD/data:/data" -p 7001:7001 difalt node \
#	    --cluster /etc/difalt/cluster.json --key /etc/difalt/node.key --listen :7001 \
#	    --data /data/table.csv --task clinic --target score --drop patient --model /data/model.npz
#
# VERSION is what difalt --version says. BUILD is any Debian or Ubuntu image with Go 1.26 in the path or in /usr/local/go.
# RUN is the base of the image; the program needs nothing from it. With --platform linux/arm64 the default build is
# compiled here for there.
ARG BUILD=golang:1.26-bookworm
ARG RUN=scratch

FROM --platform=$BUILDPLATFORM ${BUILD} AS source
ENV PATH=/usr/local/go/bin:$PATH
WORKDIR /src
COPY go.work go.work.sum go.mod go.sum ./
COPY cmd/difalt/go.mod cmd/difalt/go.sum cmd/difalt/
COPY bench/peers/go.mod bench/peers/go.sum bench/peers/
RUN cd cmd/difalt && go mod download
COPY . .
# Anybody may write to /out and /tmp: with a mounted folder and docker run --user, files belong to the user who runs it.
RUN mkdir -p /image/out /image/tmp && chmod 1777 /image/out /image/tmp \
 && ./scripts/licences.sh /image/licences && cp LICENSE /image/licences/

FROM source AS build-openblas
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    ca-certificates gcc gfortran libc6-dev libopenblas-dev liblapacke-dev libtmglib-dev \
 && rm -rf /var/lib/apt/lists/*
ARG VERSION
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 CGO_LDFLAGS="-ltmglib -lgfortran -lquadmath -lm -lpthread" \
    go build -trimpath -buildvcs=false -tags openblas,netgo,osusergo,grpcnotrace \
    -ldflags "-s -w -linkmode external -extldflags '-static' -X github.com/difalt/difalt/cmd/difalt/internal/cli.stamped=$VERSION" \
    -o /image/usr/local/bin/difalt ./cmd/difalt \
 && /image/usr/local/bin/difalt info

FROM ${RUN} AS openblas
COPY --from=build-openblas /image /
WORKDIR /out
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/difalt"]
CMD ["--help"]

FROM source AS build
ARG VERSION TARGETOS TARGETARCH
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace \
    -ldflags "-s -w -X github.com/difalt/difalt/cmd/difalt/internal/cli.stamped=$VERSION" \
    -o /image/usr/local/bin/difalt ./cmd/difalt

FROM ${RUN}
ARG VERSION
LABEL org.opencontainers.image.title=difalt \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.source=https://github.com/difalt/difalt \
      org.opencontainers.image.licenses=BSD-3-Clause
COPY --from=build /image /
WORKDIR /out
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/difalt"]
CMD ["--help"]
