package difalt_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// views are what those see who attack: without masks, with those of all pairs, and what is left
// of these if all nodes but two put together what they know.
var views = map[string]func(int) pads.Source{"bare": bare, "masked": masked, "all but two": allButTwo}

// unlike returns how far a guess is from the truth, whatever its scale and sign: the sine of the
// angle between them. A guess at random is almost 1 away.
func unlike(guess, truth mat.Matrix) float64 {
	var a, b mat.Dense
	a.Scale(1/mat.Norm(guess, 2), guess)
	b.Scale(1/mat.Norm(truth, 2), truth)
	a.MulElem(&a, &b)
	cosine := mat.Sum(&a)
	return math.Sqrt(max(0, 1-cosine*cosine))
}

// atRandom is what no guess at random of 24 numbers and more comes below.
const atRandom = 0.5

// TestTreeRecovered: along a tree the parent of a leaf would see the leaf's Z, and so its
// gradient, and of another node the sum with those below; with masks nobody sees anything of it.
func TestTreeRecovered(t *testing.T) {
	for name, masks := range views {
		for _, node := range []int{victim, victim - 1} {
			o := spyOptions(difalt.DifAltGDmin, "none", 3)
			o.Agreement.Polynomial = consensus.Tree
			v := spyThrough(t, masks, problemFor(12, 20, 12), node, o)
			var sent []*mat.Dense // to the parent, the neighbour with the smaller number
			for _, x := range v.rounds {
				if z, up := x.out[0].collective(); x.out[0].channel == wire.Mean && up {
					sent = append(sent, v.basis(z))
				}
			}
			_, start := v.collectives(v.d*v.r + v.r)
			u := v.basis(start[len(start)-1])
			_, want := v.truth(u)
			var us mat.Dense // of all nodes in the sum
			us.Scale(float64(victim-node+1), u)
			got := scaledDifference(&us, sent[o.Initialization.PowerIterations], 1/(v.result.Step*4))
			switch e := relative(got, want); {
			case name == "bare" && (node == victim && e > 1e-9 || node != victim && e < 0.1):
				t.Errorf("node %d: the gradient is off by %.1e", node, e)
			case name != "bare" && node == victim && (e < atRandom || unlike(got, want) < atRandom):
				t.Errorf("%s: the gradient is off by only %.1e", name, min(e, unlike(got, want)))
			}
		}
	}
}

// TestCodesRecovered: without masks the integers that a leaf sends along a tree are the first
// message of a run, X'y y'X U summed over its tasks, to the precision of the code.
func TestCodesRecovered(t *testing.T) {
	for name, masks := range views {
		o := spyOptions(difalt.Accelerated, "int8", 2)
		o.Agreement.Polynomial = consensus.Tree
		v := spyThrough(t, masks, problemFor(1, 20, 24), victim, o)
		var codes []float64
		for _, x := range v.rounds {
			if f := x.out[0]; f.channel == wire.StreamGradient && len(f.code) == v.d*v.r*10/8+16 { // with counts of exponents
				for k := range v.d * v.r { // of 8 + 2 bits
					at := 10 * k
					word := binary.LittleEndian.Uint16(f.code[at/8:]) >> (at % 8) << 6
					codes = append(codes, float64(int16(word)>>6))
				}
				break
			}
		}
		c := v.backProjected(0)
		var p mat.VecDense
		p.MulVec(orthonormal(v.Start).T(), c)
		var want mat.Dense
		want.Outer(1, c, &p)
		if e := unlike(v.basis(codes), &want); name == "bare" && e > 0.02 || name != "bare" && e < atRandom {
			t.Errorf("%s: the first product is off by %.2f", name, e)
		}
	}
}

// TestMeasuredRecovered: with a tolerance every method adds up sum b b', the objective, the
// gradient and U. Without masks a leaf of the tree would tell its parent.
func TestMeasuredRecovered(t *testing.T) {
	for name, masks := range views {
		for _, method := range difalt.Methods() {
			o := spyOptions(method, "int8", 20)
			o.EveryIteration = false
			v := spyThrough(t, masks, problemFor(1, 20, 12), victim, o)
			stride := kernel.NewBasis(v.d, v.r).Stride()
			sums, _ := v.collectives(v.packedSize() + 2 + 2*v.r*stride)
			if len(sums) == 0 {
				t.Fatalf("%v measures nothing", method)
			}
			own := sums[len(sums)-1]
			value, guess, _ := leading(v.symmetric(own))
			guess.ScaleVec(math.Sqrt(value), guess)
			gradient, u := mat.NewDense(v.d, v.r, nil), mat.NewDense(v.d, v.r, nil)
			for j := range v.r {
				gradient.SetCol(j, own[v.packedSize()+2+j*stride:][:v.d])
				u.SetCol(j, own[v.packedSize()+2+(v.r+j)*stride:][:v.d])
			}
			b, want := v.truth(v.result.U[0])
			if name != "bare" {
				if e := unlike(gradient, want); e < atRandom || upToSign(guess, b) < atRandom {
					t.Errorf("%v, %s: the gradient is off by only %.1e, b by %.1e", method, name, e, upToSign(guess, b))
				}
				continue
			}
			if e := upToSign(guess, b); e > 1e-8 {
				t.Errorf("%v: b is off by %.1e", method, e)
			}
			if e := relative(gradient, want); e > 1e-8 {
				t.Errorf("%v: the gradient is off by %.1e", method, e)
			}
			if !mat.Equal(u, v.result.U[0]) {
				t.Errorf("%v: U differs", method)
			}
		}
	}
}
