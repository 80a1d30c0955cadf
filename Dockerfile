# The command difalt with OpenBLAS, statically linked, in an image of its own.
#
#	docker build -t difalt .
#	docker run --rm difalt
#	docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/out:/out" difalt simulate --out /out
#	docker run -v "$PWD/cluster.json:/etc/difalt/cluster.json:ro" -v "$PWD/a.key:/etc/difalt/node.key:ro" \
#	    --user "$(id -u):$(id -g)" -v "$PWD/data:/data" -p 7001:7001 difalt node \
#	    --cluster /etc/difalt/cluster.json --key /etc/difalt/node.key --listen :7001 \
#	    --data /data/table.csv --task clinic --target score --drop patient --model /data/model.npz
#
# docs/network.md has more on nodes in containers. One is healthy when all its neighbours
# are there; what is not a node has no health.
#
# BUILD is any Debian or Ubuntu image with Go 1.26 in the path or in
# /usr/local/go. RUN can be empty, since the program needs nothing from it.
ARG BUILD=golang:1.26-bookworm
ARG RUN=scratch

FROM ${BUILD} AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    ca-certificates gcc gfortran libc6-dev libopenblas-dev liblapacke-dev libtmglib-dev \
 && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/local/go/bin:$PATH
WORKDIR /src
COPY go.work go.mod go.sum ./
COPY cmd/difalt/go.mod cmd/difalt/go.sum cmd/difalt/
COPY bench/peers/go.mod bench/peers/go.sum bench/peers/
RUN cd cmd/difalt && go mod download
COPY . .
RUN CGO_ENABLED=1 CGO_LDFLAGS="-ltmglib -lgfortran -lquadmath -lm -lpthread" \
    go build -trimpath -buildvcs=false -tags openblas,netgo,osusergo \
    -ldflags '-s -w -linkmode external -extldflags "-static"' -o /image/usr/local/bin/difalt ./cmd/difalt \
 && /image/usr/local/bin/difalt info
# Anybody may write here: with a mounted folder and docker run --user, the files
# belong to the user who runs it. "up" makes its keys in /tmp.
RUN mkdir /image/out /image/tmp && chmod 1777 /image/out /image/tmp

FROM ${RUN}
COPY --from=build /image /
WORKDIR /out
USER 65532:65532
HEALTHCHECK --start-period=10m --interval=30s --timeout=5s \
    CMD ["/usr/local/bin/difalt", "cluster", "health", "--cluster", "/etc/difalt/cluster.json", "--key", "/etc/difalt/node.key"]
ENTRYPOINT ["/usr/local/bin/difalt"]
CMD ["--help"]
