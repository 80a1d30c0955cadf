#!/bin/sh
# Runs the tests of the kernel, built for arm64, with the given flags of go test, natively or
# under qemu, and holds whole runs to the bits of other processors. Nothing above the kernel has
# code of its own for a processor: make check-systems builds that for darwin/arm64.
set -eu
export CGO_ENABLED=0 GOARCH=arm64
go vet ./internal/tile ./kernel/...
case $(uname -m) in
arm64 | aarch64) go test "$@" ./internal/tile ./kernel/... ./difalt &&
	go test -run SameBitsOnProcessors "$@" ./mixed ;;
*) # An emulated processor says nothing about pools and prefetching.
	# The conformance of the tiles covers package blas and the seeds of fuzz targets. The bits of all tiers are those
	# of one file, so that blocks and threads change none here either. Special values of complex numbers and
	# designs of dummy variables meet no code of arm64 that real numbers and other designs do not.
	# TestGeevSpectra, TestHseqr and TestGgsvd3SmallColumns have the routines of the longest two, on smaller matrices.
	export GOOS=linux
	./scripts/have.sh qemu go test -exec qemu-aarch64 -timeout 60m -skip 'Geev$|Ggsvd3$|Pool|Prefetch|SuitesOfGonum|AsGonum|Syrk|Float32|LongTasks|Fuzz|SameBits$|SameBitsForAllBlocks|SharedProducts|ComplexSpecialValues|Dumm' "$@" \
		./internal/tile ./kernel/blas ./kernel/lsq ./kernel/qr
	# Steps, whole runs and models have the bits of amd64, where tests hold these to the definitions.
	./scripts/have.sh qemu go test -exec qemu-aarch64 -timeout 60m -run SameBitsOnProcessors "$@" ./kernel ./difalt ./mixed ;;
esac
