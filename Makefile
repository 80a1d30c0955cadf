# make with no target explains the targets; the recipes are the documentation.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
VULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME ?= 10s
OUT ?= out
RUNS ?= 20
TRIALS ?= 5
MUTANTS ?= 100
SEED ?= 1

# The packages that compute. A CPU tier or a build tag changes roundings in them: other builds run their short tests.
COMPUTING = $(KERNEL) ./difalt/...
# Tests link in two thirds of the time without the tables of debuggers.
SHORT = -short -vet=off -ldflags=-w

# make test runs the short tests, make check all tests of packages that have others.
KERNEL = ./internal/tile ./kernel/...
OTHERS = $$($(GO) list work | grep -Ev '^github.com/difalt/difalt/(internal/tile|kernel)(/|$$)')
LONGER = $$(grep -rl --include='*_test.go' 'testing\.Short()' bench cmd consensus difalt internal kernel mixed private topology | \
	grep -v /faults/ | xargs -n 1 dirname | sort -u | sed 's,^,./,')

# Each of these runs a command, or prints "skip:" if the machine lacks a compiler or library.
WITH_C = ./scripts/have.sh cc env CGO_ENABLED=1
WITH_OPENBLAS = ./scripts/have.sh openblas env CGO_ENABLED=1
WITH_MPI = ./scripts/have.sh mpi env CC=mpicc CGO_ENABLED=1

# What a machine with Go can show, in minutes; and the rest.
TESTS = check-format check-build check-systems test-default test-tiers
# The longest come first, so that the last ones end together.
CHECKS = check-static check-release check-vet check-modules check-licences check-generated check-rounding check-scripts \
	test-arguments test-arm64 test-user test-oldest test-go test-full test-race test-purego test-openblas test-algorithm test-faults test-mpi test-gonum

.PHONY: help setup build test check $(TESTS) $(CHECKS) test-long mutants malformed fuzz faults bench bench-blas bench-peers benchmarks figures release packages check-vulnerabilities docker clean

export GO

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]*:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the command, as bin/difalt
	$(GO) build -tags grpcnotrace -o bin/difalt ./cmd/difalt

test: ## what must hold on this machine, in minutes; needs Go alone, and installs nothing
	@MAKE="$(MAKE)" NOT_RUN="make check also runs: $(CHECKS)" ./scripts/test.sh $(TESTS)

check: ## the rest of what must hold, after installing what that needs
	@./scripts/setup.sh || true
	@MAKE="$(MAKE)" ./scripts/test.sh $(CHECKS)

setup: ## install what make check needs, or say what to install
	./scripts/setup.sh

check-format: ## gofmt
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

# The tests find all packages compiled: two go commands at once would compile many of them twice.
check-build: ## library and program build
	$(GO) build work

check-scripts: ## shellcheck
	@./scripts/have.sh shellcheck shellcheck -e SC2086,SC2046 scripts/*.sh .ci/run deploy/slurm/difalt.sbatch

check-modules: ## go.mod and go.sum are complete, and the modules are what they were
	./scripts/modules.sh
	$(GO) list -deps -test work >/dev/null # downloads what is missing
	$(GO) mod verify

check-licences: ## a release comes with the licences of all that is in it
	./scripts/licences.sh check

check-release: ## the next release of CHANGELOG.md can be made, installed and embedded
	@next=$$(sed -n 's/^## \(.*\) (unreleased)$$/v\1/p' CHANGELOG.md); \
	if [ -z "$$next" ]; then echo "note: CHANGELOG.md has no release to come"; \
	elif ! git rev-parse -q --git-dir >/dev/null 2>&1; then echo "skip: no git repository here"; \
	else ./scripts/release.sh $$next --dry-run; fi

# A tag matters in the packages that have files for it.
check-vet: ## go vet for every build
	$(GO) vet work
	$(GO) vet -tags purego $(COMPUTING)
	$(WITH_OPENBLAS) $(GO) vet -tags openblas ./kernel ./kernel/blas ./cgo
	$(WITH_MPI) $(GO) vet -tags mpi ./cmd/difalt/internal/engine/mpi ./cmd/difalt
	$(GO) vet -tags faults ./cmd/difalt/internal/engine/grpc/faults

# Systems without terminals, signals or memory maps, with 32 bits, and with the other order of bytes.
LIBRARY_SYSTEMS = linux/386,windows/amd64,darwin/arm64,linux/s390x,js/wasm,wasip1/wasm
PROGRAM_SYSTEMS = windows/amd64,darwin/arm64,freebsd/amd64,linux/386

check-systems: ## the types of library, program and their tests hold on other systems
	$(GO) run ./scripts/systems $(LIBRARY_SYSTEMS) ./... $(PROGRAM_SYSTEMS) ./cmd/difalt/...

# One call per module analyses all builds of it; staticcheck joins the results.
check-static: ## staticcheck, for the builds that a package has
	@printf 'default:\npurego: -tags=purego\n' | $(GO) run $(STATICCHECK) -matrix $(COMPUTING)
	$(GO) run $(STATICCHECK) $(OTHERS)
	$(GO) run $(STATICCHECK) -tags faults ./cmd/difalt/internal/engine/grpc/faults
	$(WITH_OPENBLAS) $(GO) run $(STATICCHECK) -tags openblas ./kernel ./kernel/blas ./cgo
	$(WITH_MPI) $(GO) run $(STATICCHECK) -tags mpi ./cmd/difalt/internal/engine/mpi

check-vulnerabilities: ## govulncheck, for the library alone and the program; needs a network
	GOWORK=off $(GO) run $(VULNCHECK) ./...
	cd cmd/difalt && $(GO) run $(VULNCHECK) -tags grpcnotrace ./...

check-generated: ## the committed assembly is what its generator writes
	./scripts/generated.sh

check-rounding: ## no product of the library is rounded together with a sum where the compiler for arm64 would
	./scripts/rounding.sh

test-default: ## the short tests of the default build
	$(GO) test $(SHORT) -timeout 30m work

test-full: ## all tests of packages with tests that are not short
	$(GO) test -vet=off -timeout 30m $(LONGER)

# These are the long forms of three tests of kernel/blas; test-long runs all of them. They allocate much and hold little.
test-arguments: ## 100,000 random sets of arguments for each routine of BLAS, real and complex, on every CPU tier with tiles
	DIFALT_LONG=1 GOGC=800 $(GO) test -count=1 -timeout 60m -run '^Test(RandomArguments|ComplexAsGonum|ComplexSpecialValues)$$' ./kernel/blas

test-purego: ## the kernel built for portable Go alone
	$(GO) test $(SHORT) -tags purego $(KERNEL)

# The tag compiles Go's own packages of cryptography once more, which the kernel does without.
test-algorithm: ## the algorithm in portable Go, and on every other CPU tier with tiles
	$(GO) test $(SHORT) -tags purego ./difalt/...
	./scripts/tiers.sh ./difalt "avx2 avx512 neon" $(SHORT)

test-openblas: ## kernel with OpenBLAS where it is faster, and then kernel and algorithm with OpenBLAS everywhere
	$(WITH_OPENBLAS) $(GO) test $(SHORT) -tags openblas ./kernel
	$(WITH_OPENBLAS) DIFALT_KERNEL=openblas $(GO) test $(SHORT) -count=1 -tags openblas ./kernel ./difalt

test-mpi: ## the transport over MPI, and node on it, with 2, 4 and 8 processes under mpirun
	$(WITH_MPI) $(GO) test -vet=off -tags mpi ./cmd/difalt/internal/engine/mpi
	$(WITH_MPI) $(GO) test -vet=off -tags mpi -run MPI ./cmd/difalt

test-tiers: ## the kernel on every other CPU tier of this machine, and in portable Go
	./scripts/tiers.sh ./kernel "gonum generic avx2 avx512 neon" $(SHORT)

# Race detection makes arithmetic fifty times slower. Of the kernel and the algorithm it runs the tests whose names say that
# goroutines or processes meet in them. The other packages start goroutines.
MEET = Pool|SameBits|Apart|Workers|Concurrent|Interrupt|Cancel|Observer|Transport|RaceIsSeen
RACE = ./internal/workers ./consensus/... ./internal/mask ./internal/synth ./internal/testnet ./cmd/difalt/internal/engine/grpc ./cmd/difalt/internal/engine/mpi \
	./cmd/difalt/internal/federate ./cmd/difalt/internal/terminal

test-race: ## race detector, on the packages that start goroutines
	$(WITH_C) $(GO) test -race $(SHORT) -timeout 30m -run '$(MEET)' ./internal/tile ./kernel ./difalt/... ./private
	$(WITH_C) $(GO) test -race $(SHORT) -timeout 30m $(RACE)

# Packages whose tests meet the system: files, processes, connections, the environment. The others compute.
MEET_SYSTEM = $$($(GO) list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} ' ./cmd/difalt/... ./internal/... ./kernel/... ./scripts/... | \
	grep -E ' (os|os/exec|net) ' | cut -d ' ' -f 1)

test-user: ## tests that meet the system, as another user, in a folder with a space, TMPDIR elsewhere, and umask 077
	./scripts/user.sh $(SHORT) -timeout 30m $(MEET_SYSTEM)

test-go: ## library and tests of what computes with the other release of Go
	./scripts/othergo.sh $(SHORT) $(COMPUTING)

test-oldest: ## the library alone, with the oldest gonum that it works with
	./scripts/oldest.sh

test-gonum: ## gonum's own tests of matrices and statistics, with kernel/blas below them
	GONUM="mat stat stat/mds" ./scripts/gonum.sh

test-arm64: ## the kernel's tests on arm64, natively or under qemu
	./scripts/arm64.sh $(SHORT)

test-faults: ## every fault that does not take long once, in network namespaces; needs root
	@./scripts/have.sh netns $(GO) test -count=1 -timeout 30m -tags faults -short ./cmd/difalt/internal/engine/grpc/faults -v -parallel 4

# Builds find what check-systems cannot: errors of assembly, the back end and the linker.
SYSTEMS = linux/386 windows/amd64 darwin/arm64 linux/s390x linux/arm64
for_system = echo "note: $(1)"; CGO_ENABLED=0 GOOS=$(firstword $(subst /, ,$(1))) GOARCH=$(lastword $(subst /, ,$(1))) $(GO)

test-long: ## all tests in their long forms, those of gonum and an example of gorgonia with kernel/blas, and all systems
	@$(foreach t,$(SYSTEMS),$(call for_system,$(t)) vet work &&) true
	@$(foreach t,js/wasm wasip1/wasm,$(call for_system,$(t)) build ./... &&) true
	DIFALT_LONG=1 $(GO) test -timeout 2h work
	./scripts/gonum.sh
	./scripts/gorgonia.sh

malformed: ## 1,000 malformed and unusual inputs, each in a process of 2 GB and 20 s
	$(GO) test ./cmd/difalt -count=1 -v -run 'TestMalformed$$' -malformed 1000

fuzz: ## every fuzz target for FUZZTIME (10s)
	./scripts/fuzz.sh $(FUZZTIME)

faults: ## three nodes in network namespaces, every fault RUNS (20) times; needs root, ip, nft and tc
	$(GO) test -count=$(RUNS) -timeout 0 -tags faults ./cmd/difalt/internal/engine/grpc/faults -v -parallel 3

# Mutants are drawn from these packages.
MUTATED = ./kernel/... ./difalt/... ./mixed ./consensus/... ./topology ./private ./internal/... ./cmd/difalt/...

mutants: ## MUTANTS (100) small errors, drawn with SEED (1), that the tests should notice
	$(GO) run ./scripts/mutants -n $(MUTANTS) -seed $(SEED) $(MUTATED)

bench: ## benchmarks of the kernel
	$(GO) test -run '^$$' -bench . ./bench

bench-blas: ## calls of gonum with kernel/blas, gonum and OpenBLAS, also the one of OPENBLAS, as tables of BENCHMARKS.md and README.md
	$(WITH_OPENBLAS) ./scripts/openblas.sh "$(OPENBLAS)" $(GO) test -count=1 -timeout 0 -tags openblas -run TestTable ./kernel/blas \
		-table ../../BENCHMARKS.md,../../bench/peers/BENCHMARKS.md.tmpl,../../README.md

bench-peers: ## the same work in C, C++, Python, ..., side by side, with FLAGS; over the OpenBLAS of OPENBLAS, if it is set
	./bench/peers/setup.sh
	./scripts/openblas.sh "$(OPENBLAS)" sh -c 'LD_LIBRARY_PATH=$${DIFALT_OPENBLAS:-}$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH} "$$@"' - \
		$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 0 ./bench/peers $(FLAGS)

benchmarks: ## measure difalt and its peers here, and write BENCHMARKS.md
	$(MAKE) bench-peers FLAGS="-store auto"
	$(GO) test -count=1 -run Pages ./bench/peers -write

# The page has the commands as they run here, in OUT.
DIFALT = cd $(OUT) && $(CURDIR)/bin/difalt

figures: build ## the page of docs/results.md with its figures (OUT/page), and the figure of README.md (OUT/readme); OUT is out
	mkdir -p $(OUT)
	for p in fig1 fig2 frontier kappa noise one-round; do ($(DIFALT) simulate --preset $$p --trials $(TRIALS) --out runs/default) || exit 1; done
	for p in fig1 fig2 one-round; do ($(DIFALT) simulate --preset $$p --weights metropolis --trials $(TRIALS) --out runs/metropolis) || exit 1; done
	$(DIFALT) results --from runs --out page
	$(DIFALT) simulate --out readme

release: ## make the release VERSION (v1.2.3): a commit, two tags, the packages, and the command that publishes them
	SIGN="$(SIGN)" ./scripts/release.sh $(VERSION)

packages: ## all packages of VERSION (v1.2.3) from this clone, into dist: archives, image, checksums signed with the key SIGN
	$(GO) run ./scripts/packages -version "$(VERSION)" -out dist $(if $(SIGN),-sign "$(SIGN)")

docker: ## the container image difalt
	docker build -t difalt .

clean: ## remove what make wrote
	rm -rf bin dist $(OUT) difalt-out
