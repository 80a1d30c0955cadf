module github.com/difalt/difalt/bench/peers

go 1.26.0

require (
	github.com/difalt/difalt v0.1.0
	github.com/klauspost/cpuid/v2 v2.4.2
	golang.org/x/sys v0.47.0
	gonum.org/v1/gonum v0.17.0
)

require gonum.org/v1/netlib v0.0.0-20230729102104-8b8060e7531f // indirect
