package consensus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
)

// vectors returns vectors of different kinds and lengths.
func vectors() map[string][]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	of := func(n int, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	return map[string][]float64{
		"empty":   {},
		"one":     {-3.7},
		"normal":  of(1000, func(int) float64 { return rng.NormFloat64() }),
		"odd":     of(37, func(int) float64 { return rng.NormFloat64() }),
		"heavy":   of(301, func(int) float64 { return math.Exp(5 * rng.NormFloat64()) }),
		"equal":   of(19, func(int) float64 { return -.1 }),
		"one-hot": of(64, func(i int) float64 { return float64(i/63) * 1e-7 }),
		"zero":    make([]float64, 9),
		"minute":  of(20, func(int) float64 { return 1e-300 * rng.NormFloat64() }),
		"small":   of(20, func(int) float64 { return 1e-36 * rng.NormFloat64() }),
		"large":   of(20, func(int) float64 { return 1e37 * rng.NormFloat64() }),
	}
}

func distance(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return norm(d)
}

// errorBound returns what the distance of v from its code must not exceed, by the
// definition of the codec.
func errorBound(c Codec, v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	switch c {
	case None:
		return 0
	case Float32:
		return norm(v) * 0x1p-24
	}
	step := largest / float64(int(1)<<(c-1)-1)
	return math.Min(norm(v), step/2*math.Sqrt(float64(len(v))))
}

// TestRoundTrip: a code is as long as it should be, leads back to within the error
// bound, and leaves what follows it.
func TestRoundTrip(t *testing.T) {
	for _, c := range codecs[1:] {
		for name, v := range vectors() {
			given := slices.Clone(v)
			code := must[[]byte](t)(c.AppendEncode([]byte("before"), v))
			if !slices.Equal(v, given) || !bytes.HasPrefix(code, []byte("before")) {
				t.Fatalf("%v, %s: arguments changed", c, name)
			}
			code = code[len("before"):]
			again := must[[]byte](t)(c.AppendEncode(nil, v))
			if !bytes.Equal(code, again) {
				t.Errorf("%v, %s: other bytes the second time", c, name)
			}
			got := slices.Repeat([]float64{math.NaN()}, len(v))
			rest, err := c.Decode(got, append(code, "after"...))
			if err != nil || string(rest) != "after" {
				t.Fatalf("%v, %s: %q follows, %v", c, name, rest, err)
			}
			// The rounding of the scale, and of numbers below the range of float32.
			tol := 1e-6*norm(v) + 1e-38
			if d, bound := distance(got, v), errorBound(c, v); d > bound*(1+1e-9)+tol*boolTo(bound > 0) {
				t.Errorf("%v, %s: code is %v away, bound %v", c, name, d, bound)
			}
			if c < Float32 {
				header := 3
				if len(v) > 127 {
					header = 4
				}
				if want := header + 4 + (len(v)*int(c)+7)/8; len(code) != want {
					t.Errorf("%v, %s: %d bytes, want %d", c, name, len(code), want)
				}
			}
			for cut := range code {
				if _, err := c.Decode(got, code[:cut]); err == nil {
					t.Fatalf("%v, %s: %d of %d bytes are enough", c, name, cut, len(code))
				}
			}
		}
	}
}

func boolTo(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestNotFinite(t *testing.T) {
	for _, c := range codecs[1:] {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e39} {
			v := make([]float64, 20)
			v[7], v[8] = bad, 1
			if _, err := c.AppendEncode(nil, v); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%v: %v is coded, %v", c, bad, err)
			}
		}
	}
}

// TestDecodeErrors: damaged codes are refused.
func TestDecodeErrors(t *testing.T) {
	v := make([]float64, 5)
	good := must[[]byte](t)(Int4.AppendEncode(nil, []float64{1, 2, 3, 4, 5}))
	damage := func(at int, b byte) []byte {
		bad := slices.Clone(good)
		bad[at] = b
		return bad
	}
	decodeError := func(c Codec, p []byte, want ...string) {
		t.Helper()
		_, err := c.Decode(v, p)
		wantError(t, err, want...)
	}
	decodeError(Int4, damage(0, 9), "version 9, want 1")
	decodeError(Int4, damage(1, 8), "kind 8, want 4")
	decodeError(Int4, damage(2, 6), "6 entries, want 5")
	scale := damage(6, 0x7f) // with the bit of the next byte, the exponent of NaN
	scale[5] |= 0x80
	decodeError(Int4, scale, "contains NaN")
	decodeError(Int4, damage(7, 0xff), "code 15 at entry 0")
	decodeError(Int4, good[:9], "6 bytes of 7")
}

func TestParseCodec(t *testing.T) {
	for _, c := range codecs {
		if got := must[Codec](t)(ParseCodec(c.String())); got != c {
			t.Errorf("%v is read as %v", c, got)
		}
	}
	wantError(t, Agreement{Codec: 7}.Validate(), "Codec(7) is not a codec")
	for _, spec := range []string{"", "zip", "int1", "int32", "int", "int4:stochastic", "topk:0.1", "none:1"} {
		_, err := ParseCodec(spec)
		wantError(t, err, fmt.Sprintf("unknown compression %q", spec), "valid are none, float32, int16, int8, int4")
	}
}

func FuzzParseCodec(f *testing.F) {
	for _, s := range []string{"none", "int4", "int8", "float32", "int16"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		c, err := ParseCodec(spec)
		if err != nil {
			wantError(t, err)
			return
		}
		if again, err := ParseCodec(c.String()); err != nil || again != c {
			t.Errorf("%q: %v is read as %v, %v", spec, c, again, err)
		}
		if err := (Agreement{Codec: c}).Validate(); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	})
}

// FuzzDecode: whatever arrives, Decode does not panic, gives finite numbers or an
// error, and what it accepts can be coded again.
func FuzzDecode(f *testing.F) {
	all := codecs[1:]
	for i, c := range all {
		v := vectors()["odd"]
		code, err := c.AppendEncode(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, len(v), code)
	}
	f.Fuzz(func(t *testing.T, i, n int, p []byte) {
		c := all[uint(i)%uint(len(all))]
		v := make([]float64, uint(n)%2000)
		rest, err := c.Decode(v, p)
		if err != nil {
			wantError(t, err)
			return
		}
		if !bytes.HasSuffix(p, rest) {
			t.Errorf("%v: what follows is not the end", c)
		}
		for k, x := range v {
			if x-x != 0 {
				t.Fatalf("%v: entry %d is %v", c, k, x)
			}
		}
	})
}

// FuzzEncode: numbers of any size and sign are coded to within the error bound.
func FuzzEncode(f *testing.F) {
	all := codecs[1:]
	f.Add(0, []byte("some bytes"))
	f.Fuzz(func(t *testing.T, i int, p []byte) {
		c := all[uint(i)%uint(len(all))]
		v := make([]float64, len(p)/2)
		for k := range v {
			v[k] = math.Ldexp(float64(int8(p[2*k])), int(int8(p[2*k+1]))*3/4)
		}
		code, err := c.AppendEncode(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, len(v))
		if rest, err := c.Decode(got, code); err != nil || len(rest) > 0 {
			t.Fatalf("%v: %d bytes left, %v", c, len(rest), err)
		}
		if d := distance(got, v); d > errorBound(c, v)*(1+1e-6)+1e-6*norm(v)+1e-36 {
			t.Errorf("%v: %v is coded as %v", c, v, got)
		}
	})
}

// FuzzDecodeMessage: whatever code a peer sends, in a frame that is whole, decoding it does not
// panic, and gives finite numbers or an error.
func FuzzDecodeMessage(f *testing.F) {
	all := codecs
	s := dimensions{Stream: StreamBasis, D: 7, R: 2, Scalars: 3}
	l := layoutOf(s)
	v := make([]float64, l.n)
	for i, c := range all {
		v[i%len(v)] = 1.5
		f.Add(i, must[[]byte](f)(l.transcode(c, nil, v)))
	}
	f.Fuzz(func(t *testing.T, i int, code []byte) {
		c := all[uint(i)%uint(len(all))]
		q := make([]float64, l.n)
		if err := l.decode(c, q, code); err != nil {
			wantError(t, err)
			return
		}
		if !wire.Finite(q) {
			t.Errorf("%v: %v", c, q)
		}
	})
}

// TestMaxLen: no code is longer, whatever it codes, and none much shorter.
func TestMaxLen(t *testing.T) {
	for _, c := range codecs[1:] {
		for name, v := range vectors() {
			code := must[[]byte](t)(c.AppendEncode(nil, v))
			if len(code) > c.MaxLen(len(v)) {
				t.Errorf("%v, %s: %d bytes, more than %d", c, name, len(code), c.MaxLen(len(v)))
			}
		}
		for _, n := range []int{1, 10, 127, 128, 129, 300, 5000, 40000} {
			// Entries that are far apart take the most room.
			v := make([]float64, n)
			for k := 0; k < n; k += 129 {
				v[k] = 1 + float64(k)
			}
			v[n-1] = 7
			if code := must[[]byte](t)(c.AppendEncode(nil, v)); len(code) > c.MaxLen(n) {
				t.Errorf("%v, %d entries: %d bytes, more than %d", c, n, len(code), c.MaxLen(n))
			}
			dense := make([]float64, n)
			for k := range dense {
				dense[k] = 1 + float64(k%7)
			}
			if code := must[[]byte](t)(c.AppendEncode(nil, dense)); c.MaxLen(n) > len(code)+len(code)/4+maxHeader+16+n/64 {
				t.Errorf("%v, %d entries: %d bytes, bound %d", c, n, len(code), c.MaxLen(n))
			}
		}
	}
}

// The codes of entries are the digits of one number, the first the lowest: wherever they are
// packed together.
func TestQuantizerDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, q := range []Codec{Int4, Int8, Int16} {
		for n := 1; n < 300; n++ {
			v, got := make([]float64, n), make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			p := make([]byte, q.size(n))
			if err := errors.Join(q.quantize(p, v), q.dequantize(got, p)); err != nil {
				t.Fatal(err)
			}
			digits := slices.Clone(p[4:])
			slices.Reverse(digits)
			number, base := new(big.Int).SetBytes(digits), new(big.Int).Lsh(big.NewInt(1), uint(q))
			scale := float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
			for i, x := range got {
				digit := new(big.Int)
				number.DivMod(number, base, digit)
				if want := scale * float64(digit.Int64()-int64(q.zero())); x != want {
					t.Fatalf("%v, entry %d of %d is %v, its digit says %v", q, i, n, x, want)
				}
			}
			if number.Sign() != 0 {
				t.Fatalf("%v, %d entries: bits are left over", q, n)
			}
		}
	}
}
