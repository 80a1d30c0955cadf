package nodes

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// ditherPart is how large the dither of a sum is that all nodes make together, over what tasks differ by. The sum of T tasks is a
// draw with an error of sqrt T times that.
const ditherPart = 0.1

// A Secret is what nobody can know but a node: a hash of its rows.
type Secret [sha256.Size]byte

// Dithers reports whether sums are dithered: they are where others see them.
func (group *Group) Dithers() bool { return group.Secrets != nil && group.Len() > 1 }

// DitherOfOthers returns how large the dither of a sum is that a node has not made itself, over the spread.
func (group *Group) DitherOfOthers() float64 {
	if !group.Dithers() {
		return 1e-15 // of float64
	}
	return ditherPart * math.Sqrt(1-1/float64(group.Len()))
}

// Dither adds to every sum over the tasks of hosted node i normal noise of a hundredth of what such a number differs by between tasks,
// given the sums of squares over tasks. What tasks are like is known to a tenth of that at best, while who solves for the
// statistics of single tasks has no digits left to do it with. The noise is what a stream of ChaCha8 makes of the secret of the node and of
// the sums themselves: the same wherever the node lives, another for any other sums, and unknown to who does not know the rows.
func (group *Group) Dither(i int, sum, squares []float64, tasks int) {
	if tasks == 0 {
		return
	}
	share := ditherPart / math.Sqrt(float64(group.Len()))
	hash, word := sha256.New(), make([]byte, 8)
	hash.Write(group.Secrets[i][:])
	for _, v := range sum {
		binary.LittleEndian.PutUint64(word, math.Float64bits(v))
		hash.Write(word)
	}
	noise := rand.New(rand.NewChaCha8([32]byte(hash.Sum(nil))))
	for j, v := range sum {
		sum[j] += share * spread(v, squares[j], float64(tasks)) * noise.NormFloat64()
	}
}

// spread returns what numbers differ by whose sum and sum of squares is given, and at least a tenth of their mean: that of a single one is its size.
func spread(sum, squares, n float64) float64 {
	mean := sum / n
	if n == 1 {
		return math.Abs(mean)
	}
	return math.Sqrt(max(squares-sum*mean, 0)/(n-1) + mean*mean/100)
}
