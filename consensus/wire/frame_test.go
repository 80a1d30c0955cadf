package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

var someOrigin = Origin{Run: 7, Node: 4}

const someNumber = 1<<40 + 9

// frameOf returns frame number n of o.
func frameOf(o Origin, n uint64, c Channel, code string) []byte {
	return o.seed().endFrame(append(beginFrame(nil, c, n, 7), code...), n)
}

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range append(parts, "consensus: ") {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %v lacks %q", err, p)
		}
	}
}

// TestFrame: a frame is read as it was written; every change of a byte, and every other length, number,
// node or run, is an error.
func TestFrame(t *testing.T) {
	for _, code := range []string{"", "x", "the code"} {
		p := frameOf(someOrigin, someNumber, Sum, code)
		got, err := someOrigin.seed().open(p, someNumber)
		if got.channel != Sum || got.tag != 7 || string(got.code) != code || err != nil || CheckFrame(p, someOrigin, someNumber) != nil || len(p) != len(code)+FrameOverhead {
			t.Errorf("%+v, %v: want %q", got, err, code)
		}
		if n, ok := FrameNumber(p); n != someNumber&255 || !ok {
			t.Errorf("number %d, %v", n, ok)
		}
		wrong := func(what string, p []byte, o Origin, n uint64) {
			t.Helper()
			if err := CheckFrame(p, o, n); err == nil {
				t.Errorf("%s: no error", what)
			} else {
				wantError(t, err)
			}
		}
		for k := range p {
			for bit := range 8 {
				p[k] ^= 1 << bit
				wrong(fmt.Sprintf("bit %d of byte %d changed", bit, k), p, someOrigin, someNumber)
				p[k] ^= 1 << bit
			}
			wrong(fmt.Sprintf("%d of %d bytes", k, len(p)), p[:k], someOrigin, someNumber)
		}
		wrong("another byte", append(bytes.Clone(p), 0), someOrigin, someNumber)
		wrong("another run", p, Origin{8, 4}, someNumber)
		wrong("another node", p, Origin{7, 5}, someNumber)
		for _, n := range []uint64{someNumber - 1, someNumber + 1, someNumber + 256, someNumber - 256, someNumber + 1<<31} {
			wrong("another number", p, someOrigin, n)
		}
	}
	liar := append(beginFrame(nil, Sum, someNumber+1, 7), "x"...)
	wantError(t, CheckFrame(someOrigin.seed().endFrame(liar, someNumber), someOrigin, someNumber), "checksum")
	if _, ok := FrameNumber(make([]byte, FrameOverhead-1)); ok {
		t.Error("a frame that is too short has a number")
	}
}

// FuzzFrame: for any bytes, open neither panics nor allocates, and a frame that it accepts is written in
// the same way.
func FuzzFrame(f *testing.F) {
	f.Add(frameOf(someOrigin, someNumber, Mean, "the code"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, p []byte) {
		seed := someOrigin.seed()
		if end := len(p) - checksumLen; len(p) >= FrameOverhead { // otherwise no frame passes
			p = bytes.Clone(p)
			p[1] = someNumber & 255
			binary.LittleEndian.PutUint32(p[end:], seed.checksum(p[:end], someNumber))
		}
		got, err := seed.open(p, someNumber)
		if err != nil {
			wantError(t, err)
			return
		}
		if again := seed.endFrame(append(beginFrame(nil, got.channel, someNumber, got.tag), got.code...), someNumber); !bytes.Equal(again, p) {
			t.Errorf("%x is written as %x", p, again)
		}
		if n := testing.AllocsPerRun(1, func() { _, _ = seed.open(p, someNumber) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestFloats: numbers keep their bits; others than the finite ones, and another length, are errors.
func TestFloats(t *testing.T) {
	v := []float64{0, math.Copysign(0, -1), 5e-324, 1e-310, -1e-40, 1.5, math.MaxFloat64}
	got := make([]float64, len(v))
	if err := ReadFloats(got, AppendFloats(nil, v)); err != nil {
		t.Fatal(err)
	}
	for k := range v {
		if math.Float64bits(got[k]) != math.Float64bits(v[k]) {
			t.Errorf("%v is read as %v", v[k], got[k])
		}
	}
	wantError(t, ReadFloats(got, AppendFloats(nil, v)[1:]), "55 bytes, want 56")
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		v[3] = bad
		wantError(t, ReadFloats(got, AppendFloats(nil, v)), "number 3 is "+fmt.Sprint(bad))
		if Finite(v) {
			t.Errorf("%v is finite", bad)
		}
	}
}
