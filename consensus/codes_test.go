package consensus_test

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestCodedTreeAgainstDefinition follows changing messages by the equations of the codec: the integers of
// every node, the sum of what it has sent, and the mean of these.
func TestCodedTreeAgainstDefinition(t *testing.T) {
	for _, d := range []int{11, 481} { // shorter and longer than the counts
		n := must[*consensus.Network](t)(consensus.New(weightsOf(t, "er:0.4", 9), nil))
		x := n.TreeMean()
		sent := mat.NewDense(9, d, nil)
		largest := math.NaN() // the difference that the step is for
		for call := range uint64(8) {
			codec, width := consensus.Int8, 8
			if call >= 4 {
				codec, width = consensus.Int16, 16
			}
			z := messages(n, d, 1, 0, 0, 5+call)
			var difference mat.Dense
			difference.Sub(matrixOf(z), sent)
			now := floats.Norm(difference.RawMatrix().Data, math.Inf(1))
			if call == 0 {
				largest = now
			}
			step, most := math.Exp2(math.Floor(math.Log2(largest))+1)/float64(int(1)<<(width-1)),
				float64(int(1)<<(width-1)-1)
			for i := range 9 {
				for k := range d {
					sent.Set(i, k, sent.At(i, k)+step*min(max(math.RoundToEven(difference.At(i, k)/step), -most), most))
				}
			}
			largest = now
			if err := x.Average(t.Context(), z, codec); err != nil {
				t.Fatal(err)
			}
			for k, v := range values(z[3]) {
				if want := mat.Sum(sent.ColView(k)) / 9; math.Abs(v-want) > 1e-14 {
					t.Fatalf("call %d, entry %d: %v, want %v", call, k, v, want)
				}
			}
		}
	}
}

// TestCodedTreeOutgrown: messages whose size changes by any factor arrive to the last digit in the end,
// also the smallest float64, and also after messages of zeros.
func TestCodedTreeOutgrown(t *testing.T) {
	for _, codec := range []consensus.Codec{consensus.Int8, consensus.Int16} {
		n := must[*consensus.Network](t)(consensus.New(weightsOf(t, "path", 3), nil))
		x := n.TreeMean()
		largest := 0.0
		for _, size := range []float64{0, 5e-324, 1e-310, 1e-40, 1e-3, 1e-3, 1e9, 1e9, 1e-200, 1e100} {
			var given, z []consensus.Message
			for range 30 {
				given, z = messages(n, 7, 2, 2, 0, 5), messages(n, 7, 2, 2, 0, 5)
				for _, m := range slices.Concat(given, z) {
					floats.Scale(size, m.Basis.Data())
					floats.Scale(size, m.Scalars)
				}
				if err := x.Average(t.Context(), z, codec); err != nil {
					t.Fatal(err)
				}
			}
			largest = max(largest, size)
			for k, v := range values(z[0]) {
				// Steps are at least 2^-923, and D has the rounding errors of the largest message.
				if want := mat.Sum(matrixOf(given).ColView(k)) / 3; math.Abs(v-want) > 1e-13*largest+1e-277 {
					t.Errorf("%v, size %v, entry %d: %v, want %v", codec, size, k, v, want)
				}
			}
		}
	}
}
