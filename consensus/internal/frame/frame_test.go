package frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

var someSeed = NewSeed(7, 4)

const someNumber = 1<<40 + 9

// frameOf returns frame number n of a sender.
func frameOf(s Seed, n uint64, c Channel, code string) []byte {
	return s.End(append(Begin(nil, c, n, 7), code...), n)
}

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %v lacks %q", err, p)
		}
	}
}

// TestFrame: a frame is read as it was written; every change of a byte, and every other length, number,
// node or run, is an error.
func TestFrame(t *testing.T) {
	for _, code := range []string{"", "x", "the code"} {
		p := frameOf(someSeed, someNumber, Sum, code)
		got, err := someSeed.Open(p, someNumber)
		if got.Channel != Sum || got.Tag != 7 || string(got.Code) != code || err != nil ||
			len(p) != len(code)+Overhead {
			t.Errorf("%+v, %v: want %q", got, err, code)
		}
		if n, ok := Number(p); n != someNumber&255 || !ok {
			t.Errorf("number %d, %v", n, ok)
		}
		wrong := func(what string, p []byte, s Seed, n uint64) {
			t.Helper()
			if _, err := s.Open(p, n); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		for k := range p {
			for bit := range 8 {
				p[k] ^= 1 << bit
				wrong(fmt.Sprintf("bit %d of byte %d changed", bit, k), p, someSeed, someNumber)
				p[k] ^= 1 << bit
			}
			wrong(fmt.Sprintf("%d of %d bytes", k, len(p)), p[:k], someSeed, someNumber)
		}
		wrong("another byte", append(bytes.Clone(p), 0), someSeed, someNumber)
		wrong("another run", p, NewSeed(8, 4), someNumber)
		wrong("another node", p, NewSeed(7, 5), someNumber)
		for _, n := range []uint64{someNumber - 1, someNumber + 1, someNumber + 256, someNumber - 256,
			someNumber + 1<<31} {
			wrong("another number", p, someSeed, n)
		}
	}
	liar := append(Begin(nil, Sum, someNumber+1, 7), "x"...)
	_, err := someSeed.Open(someSeed.End(liar, someNumber), someNumber)
	wantError(t, err, "checksum")
	if _, ok := Number(make([]byte, Overhead-1)); ok {
		t.Error("a frame that is too short has a number")
	}
}

// FuzzFrame: for any bytes, open neither panics nor allocates, and a frame that it accepts is written in
// the same way.
func FuzzFrame(f *testing.F) {
	f.Add(frameOf(someSeed, someNumber, Mean, "the code"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, p []byte) {
		seed := someSeed
		if end := len(p) - checksumLen; len(p) >= Overhead { // otherwise no frame passes
			p = bytes.Clone(p)
			p[1] = someNumber & 255
			binary.LittleEndian.PutUint32(p[end:], seed.checksum(p[:end], someNumber))
		}
		got, err := seed.Open(p, someNumber)
		if err != nil {
			return
		}
		if again := seed.End(append(Begin(nil, got.Channel, someNumber, got.Tag), got.Code...),
			someNumber); !bytes.Equal(again, p) {
			t.Errorf("%x is written as %x", p, again)
		}
		if n := check.Allocations(1, func() { _, _ = seed.Open(p, someNumber) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestFloats: numbers keep their bits; others than the finite ones, and another length, are errors.
func TestFloats(t *testing.T) {
	v := []float64{0, math.Copysign(0, -1), 5e-324, 1e-310, -1e-40, 1.5, math.MaxFloat64}
	got := make([]float64, len(v))
	if err := ReadFloats(got, AppendFloats(nil, v), math.Inf(1)); err != nil {
		t.Fatal(err)
	}
	for k := range v {
		if math.Float64bits(got[k]) != math.Float64bits(v[k]) {
			t.Errorf("%v is read as %v", v[k], got[k])
		}
	}
	wantError(t, ReadFloats(got, AppendFloats(nil, v)[1:], math.Inf(1)), "55 bytes, want 56")
	wantError(t, ReadFloats(got, AppendFloats(nil, v), 1e9), "number 6 is 1.797")
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		v[3] = bad
		wantError(t, ReadFloats(got, AppendFloats(nil, v), math.Inf(1)), "number 3 is "+fmt.Sprint(bad))
	}
}
