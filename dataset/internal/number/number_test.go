package number

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Whatever Prefix takes must be what strconv makes of the same text.
func check(t *testing.T, s string) {
	t.Helper()
	v, n := Prefix([]byte(s), '.')
	if n == 0 {
		return
	}
	want, err := strconv.ParseFloat(s[:n], 64)
	if err != nil || math.Float64bits(v) != math.Float64bits(want) {
		t.Errorf("%q: %v and length %d, want %v (%v)", s, v, n, want, err)
	}
}

func TestPrefix(t *testing.T) {
	for s, n := range map[string]int{
		"1": 1, "-1.5,": 4, "+.5\n": 3, "5.": 2, "1e5;": 3, "1E-5": 4, "0": 1, "-0": 2,
		"": 0, "-": 0, ".": 0, "e5": 0, "1e": 0, "1e+": 0, "x": 0, "NaN": 0, "Inf": 0, " 1": 0,
		"1e400": 0, "12345678901234567890123": 23, "1_000": 1, "0x10": 1,
		"9007199254740993": 16, "1e23": 4, "123456789012345678e-30": 22,
	} {
		if _, got := Prefix([]byte(s), '.'); got != n {
			t.Errorf("%q: length %d, want %d", s, got, n)
		}
		check(t, s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := math.Float64frombits(r.Uint64())
		for _, s := range []string{
			strconv.FormatFloat(v, 'g', -1, 64), strconv.FormatFloat(v, 'e', 1+r.IntN(20), 64),
			strconv.FormatFloat(r.NormFloat64(), 'f', r.IntN(25), 64),
			fmt.Sprintf("%d.%de%d", r.Uint64(), r.Uint64(), r.IntN(60)-30),
		} {
			check(t, s)
		}
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add("-12.5e3,")
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

func BenchmarkPrefix(b *testing.B) {
	s := []byte("-0.482913,")
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Prefix(s, '.')
	}
}
