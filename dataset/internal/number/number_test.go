package number

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Whatever Plain takes must be what strconv makes of the same text, with either mark.
func check(t *testing.T, s string) {
	t.Helper()
	for _, mark := range []string{".", ","} {
		v, ok := Plain([]byte(strings.ReplaceAll(s, ".", mark)), mark[0])
		if !ok {
			continue
		}
		want, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Float64bits(v) != math.Float64bits(want) {
			t.Errorf("%q: %v, want %v (%v)", s, v, want, err)
		}
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]bool{
		"1": true, "-1.5": true, "+.5": true, "5.": true, "0": true, "-0": true,
		"12345678901234567890123": true, "9007199254740993": true, "0.00000000000000000000000001": true,
		"1e5": true, "-1.5E-05": true, "1e23": true, "123456789012345678e-30": true, "1e": false, "1e+": false, "1e400": false, "1e_5": false, "1e5.": false,
		"": false, "-": false, ".": false, "-1.5,": false, "1.5.": false, "e5": false, "1_000": false,
		"0x10": false, "x": false, "NaN": false, "Inf": false, " 1": false, "--1": false,
	} {
		if _, ok := Plain([]byte(s), '.'); ok != want {
			t.Errorf("%q: %v, want %v", s, ok, want)
		}
		check(t, s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := math.Float64frombits(r.Uint64())
		for _, s := range []string{
			strconv.FormatFloat(v, 'g', -1, 64), strconv.FormatFloat(v, 'f', r.IntN(20), 64),
			strconv.FormatFloat(r.NormFloat64(), 'f', r.IntN(25), 64), strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64),
			strconv.FormatFloat(v, 'e', 1+r.IntN(20), 64), fmt.Sprintf("%d.%de%d", r.Uint64(), r.Uint64(), r.IntN(60)-30),
			fmt.Sprintf("%d.%03de%d", r.IntN(1000), r.IntN(1000), r.IntN(60)-30),
		} {
			check(t, s)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("-12.5")
	f.Fuzz(func(t *testing.T, s string) {
		if !strings.Contains(s, ",") {
			check(t, s)
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	s := []byte("-0.482913")
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Plain(s, '.')
	}
}
