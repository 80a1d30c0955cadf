module github.com/difalt/difalt

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	gonum.org/v1/gonum v0.15.1
	gonum.org/v1/netlib v0.0.0-20230729102104-8b8060e7531f
)

require (
	golang.org/x/exp v0.0.0-20231110203233-9a3e6036ecaa // indirect
	golang.org/x/sys v0.41.0 // indirect
	golang.org/x/tools v0.15.0 // indirect
)
