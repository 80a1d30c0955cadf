module github.com/difalt/difalt/bench/peers/netlib

go 1.26.0

require (
	github.com/difalt/difalt v0.0.0
	gonum.org/v1/gonum v0.17.0
	gonum.org/v1/netlib v0.0.0-20230729102104-8b8060e7531f
)

replace github.com/difalt/difalt => ../../..
