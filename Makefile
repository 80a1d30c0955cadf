# make with no target explains the targets; the recipes are the documentation.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10s
OUT ?= out
RUNS ?= 20
TRIALS ?= 5

# What the numbers of the kernel reach. A CPU tier or a build tag changes roundings there
# and nothing else: test-default runs all tests, the other builds those of -short.
ABOVE = ./consensus/... ./difalt/... ./cmd/difalt/model/... ./cmd/difalt/fit/...
SHORT = -short -vet=off

# These run what follows them, or say that it is skipped for want of a compiler or
# library.
WITH_C = ./scripts/have.sh cc env CGO_ENABLED=1
WITH_OPENBLAS = ./scripts/have.sh openblas env CGO_ENABLED=1
WITH_MPI = ./scripts/have.sh mpi env CC=mpicc CGO_ENABLED=1

CHECKS = check-format check-modules check-vet check-systems check-static check-generated \
	test-race test-default test-faults test-deploy test-arm64 test-mpi test-purego test-openblas test-tiers

.PHONY: help setup build test $(CHECKS) test-long malformed fuzz faults bench bench-disk bench-network bench-peers benchmarks figures docker clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

build: ## the command, as bin/difalt
	$(GO) build -o bin/difalt ./cmd/difalt

test: ## everything that must hold, after installing what that needs
	@./scripts/setup.sh || true
	@MAKE="$(MAKE)" ./scripts/test.sh $(CHECKS)

setup: ## install what the tests need, or say what to install
	./scripts/setup.sh

check-format: ## gofmt
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

check-modules: ## go.mod and go.sum are complete, the modules are what they were, and their licences are listed
	$(GO) mod verify
	./scripts/modules.sh
	./scripts/licences.sh check

# A tag matters in the packages that have files for it.
check-vet: ## go vet for every build
	$(GO) vet work
	$(GO) vet -tags purego ./kernel/...
	$(WITH_OPENBLAS) $(GO) vet -tags openblas ./kernel ./cgo
	$(WITH_MPI) $(GO) vet -tags mpi ./cmd/difalt/engine/mpi ./cmd/difalt
	$(GO) vet -tags faults ./cmd/difalt/engine/grpc/faults

# Without cgo; what has no terminal, signals or memory maps, 32 bits, and the other order of bytes. A whole build for
# another system takes a minute: make test builds one, and what others embed for the rest, but for those that build the
# same files as one before; test-long all.
SYSTEMS = linux/386 windows/amd64 darwin/arm64 js/wasm
ALL_SYSTEMS = $(SYSTEMS) linux/s390x wasip1/wasm
EMBEDDED = ./kernel/... ./topology ./consensus/... ./difalt
for_system = echo "note: $(1) $(2)"; CGO_ENABLED=0 GOOS=$(firstword $(subst /, ,$(1))) GOARCH=$(lastword $(subst /, ,$(1))) $(GO)

check-systems: ## go vet for another system, and builds for more
	@$(call for_system,linux/386,work) vet work
	@$(foreach t,$(filter-out linux/386,$(SYSTEMS)),$(call for_system,$(t),$(EMBEDDED)) build $(EMBEDDED) &&) true

check-static: ## staticcheck for every build
	$(GO) run $(STATICCHECK) ./... ./cmd/difalt/... ./bench/peers
	$(GO) run $(STATICCHECK) -tags purego ./kernel/...
	$(WITH_OPENBLAS) $(GO) run $(STATICCHECK) -tags openblas ./kernel ./cgo
	$(WITH_MPI) $(GO) run $(STATICCHECK) -tags mpi ./cmd/difalt/engine/mpi ./cmd/difalt
	$(GO) run $(STATICCHECK) -tags faults ./cmd/difalt/engine/grpc/faults

check-generated: ## the committed assembly is what its generator writes
	./scripts/generated.sh

test-default: ## all tests, default build
	$(GO) test -vet=off work

test-purego: ## what computes, portable Go
	$(GO) test $(SHORT) -tags purego ./kernel/... $(ABOVE)

test-openblas: ## what computes, OpenBLAS where it is faster, and then everywhere
	$(WITH_OPENBLAS) $(GO) test $(SHORT) -tags openblas ./kernel ./cgo
	$(WITH_OPENBLAS) DIFALT_KERNEL=openblas $(GO) test $(SHORT) -count=1 -tags openblas ./kernel ./difalt ./cmd/difalt/fit

test-mpi: ## the transport over MPI, and node on it, with 2, 4 and 8 processes under mpirun
	$(WITH_MPI) $(GO) test -vet=off -tags mpi ./cmd/difalt/engine/mpi
	$(WITH_MPI) $(GO) test -vet=off -tags mpi -run MPI ./cmd/difalt

test-tiers: ## kernel and algorithm on every other CPU tier of this machine
	./scripts/tiers.sh $(SHORT)

# The race detector makes computing fifty times slower, and has nothing to say about one goroutine. Of the algorithm and of
# fit: tests in which processes, workers and observers meet. Elsewhere: all tests of -short but those that compute alone.
MEET = ^(Example_transport|TestSameBits.*|TestLeavingTogether|TestLeaveTogether|TestOptionsDiffer|TestNodesThatDiffer|TestPrivateNodesDiffer|TestSettings|TestWorkers|TestObserver.*|TestInterrupted.*|TestCanceled.*|TestPrivateRetried|TestBaselineTransactions|TestMixedPrecisionResumes|TestSamplesOnDisk|TestStartsApart|TestFitApart|TestRefusedApart|TestNoiseApart|TestPrivateFitApart|TestPeerDies)$$
ALONE = ^(TestConformance.*|TestAverageAgainstPowers|TestDensity|TestGammaOfLarge|TestExtremesAgainstDense|TestOnDisk|TestReduced|TestProducts|TestGemm|TestSyrkAndSyr2k|TestTrsm|TestSyev|TestMalformedFiles)$$
CONCURRENT = $$(grep -rlE --include=*.go --exclude-dir=deploy --exclude-dir=testdata --exclude-dir=faults 'go func|"sync|NewPool' . | xargs -n1 dirname | sort -u | grep -vxE '\./(difalt|cmd/difalt/fit|bench)')

test-race: ## race detector, on the packages that start goroutines or share a pool
	$(WITH_C) $(GO) test -race $(SHORT) -run '$(MEET)' ./difalt ./cmd/difalt/fit
	$(WITH_C) $(GO) test -race $(SHORT) -skip '$(ALONE)' $(CONCURRENT)

test-arm64: ## what computes, built for arm64, and the kernel's tests under qemu
	./scripts/arm64.sh $(SHORT)

test-faults: ## every fault that does not take long once, in network namespaces; needs root
	@./scripts/have.sh netns $(GO) test -count=1 -timeout 30m -tags faults -short ./cmd/difalt/engine/grpc/faults -v -lanes 4

test-deploy: ## the files in deploy, by the types and loaders of those who read them, and their commands
	@./scripts/have.sh shellcheck shellcheck deploy/slurm/difalt.sbatch
	@cd deploy/check && if $(GO) mod download; then $(GO) vet ./... && $(GO) test -count=1 ./...; \
	else echo "skip: the modules of deploy/check cannot be had"; fi

test-long: ## all tests, and those that take minutes
	CGO_ENABLED=0 GOARCH=arm64 $(GO) build work
	@$(foreach t,$(ALL_SYSTEMS),$(call for_system,$(t),work) vet work &&) true
	DIFALT_LONG=1 $(GO) test -timeout 2h work

malformed: ## 1,000 malformed and unusual inputs, each in a process of 2 GB and 20 s
	$(GO) test ./cmd/difalt -count=1 -v -run 'TestMalformed$$' -malformed 1000

fuzz: ## every fuzz target for FUZZTIME (10s)
	./scripts/fuzz.sh $(FUZZTIME)

faults: ## three nodes in network namespaces, every fault RUNS (20) times; needs root, ip, nft and tc
	$(GO) test -count=1 -timeout 0 -tags faults ./cmd/difalt/engine/grpc/faults -v -runs $(RUNS)

bench: ## benchmarks of the kernel
	$(GO) test -run '^$$' -bench . ./bench

bench-disk: ## samples on disk, in a quarter of the memory, beside samples in memory; needs root and FOLDER, with SHAPE
	./scripts/disk.sh $(FOLDER) $(SHAPE)

bench-network: ## rounds over gRPC beside TLS by hand, and over MPI beside a C program
	./scripts/network.sh

bench-peers: ## the same work in C, C++, Python, ..., side by side, with FLAGS
	./bench/peers/setup.sh
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 0 ./bench/peers $(FLAGS)

benchmarks: ## measure difalt and its peers here, and write BENCHMARKS.md
	$(MAKE) bench-peers FLAGS="-store auto"
	$(GO) test -count=1 -run Pages ./bench/peers -write

figures: build ## the figures of the paper with TRIALS (5) trials, into OUT (out)
	./bin/difalt simulate --preset all --trials $(TRIALS) --out $(OUT)
	./bin/difalt results --from $(OUT) --out $(OUT)

docker: ## the container image difalt
	docker build -t difalt .

clean: ## remove what make wrote
	rm -rf bin $(OUT) difalt-out
