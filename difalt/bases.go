package difalt

import (
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
)

// qrWork is the scratch memory of a QR factorisation.
type qrWork struct{ r, work []float64 }

func newQRWork(r int) qrWork { return qrWork{make([]float64, r*r), make([]float64, qr.WorkLen(r))} }

func ones(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

func copyBases(dst, u []*kernel.Basis) {
	for i, v := range u {
		dst[i].CopyFrom(v)
	}
}

func clone(u []*kernel.Basis) []*kernel.Basis {
	var list []*kernel.Basis
	for _, v := range u {
		list = append(list, v.Clone())
	}
	return list
}
