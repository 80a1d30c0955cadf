package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func someFrame() *frame {
	return &frame{
		header:     header{channel: 2, run: 7, epoch: 3, sender: 4, seq: 9, failure: failure{set: true, channel: 1, node: 5, seq: 8}},
		headerPart: []byte("headerPart"), code: []byte("the code"),
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range append(parts, "consensus: ") {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// TestFrame: what is written is read again, and no byte can be changed, cut off or
// added unnoticed.
func TestFrame(t *testing.T) {
	f := someFrame()
	p := appendFrame([]byte("before"), f)[len("before"):]
	got := must[frame](t)(parseFrame(p))
	if got.header != f.header || !bytes.Equal(got.headerPart, f.headerPart) || !bytes.Equal(got.code, f.code) {
		t.Errorf("%+v, want %+v", got, *f)
	}
	if n, err := FrameLen(p); n != len(p) || err != nil {
		t.Errorf("length %d, %v", n, err)
	}
	for k := range p {
		for bit := range 8 {
			p[k] ^= 1 << bit
			if _, err := parseFrame(p); err == nil {
				t.Errorf("bit %d of byte %d is of no consequence", bit, k)
			}
			p[k] ^= 1 << bit
		}
		if _, err := parseFrame(p[:k]); err == nil {
			t.Errorf("%d of %d bytes are enough", k, len(p))
		}
	}
	if _, err := parseFrame(append(p, 0)); err == nil {
		t.Error("a byte too many is not noticed")
	}
	silent := someFrame()
	silent.headerPart, silent.code = nil, nil
	if p := appendFrame(nil, silent); len(p) != HeaderLen {
		t.Errorf("a silent node sends %d bytes", len(p))
	}
}

// TestFrameLen: a header that claims more than there can be is refused.
func TestFrameLen(t *testing.T) {
	p := appendFrame(nil, someFrame())
	for _, at := range []int{atHeaderPart, atCode} {
		q := bytes.Clone(p)
		binary.LittleEndian.PutUint32(q[at:], math.MaxUint32)
		_, err := FrameLen(q)
		wantError(t, err, "claims")
	}
	q := bytes.Clone(p)
	q[4]++
	_, err := FrameLen(q)
	wantError(t, err, "version 3, want 2")
	_, err = FrameLen([]byte("GET / HTTP/1.1\r\n" + string(p)))
	wantError(t, err, "begins with")
}

// FuzzFrame: whatever comes, the decoder does not panic or allocate, and what it takes
// for a frame is written as the same bytes.
func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, someFrame()))
	f.Add(appendFrame(nil, &frame{}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) >= HeaderLen { // otherwise next to nothing passes
			p = bytes.Clone(p)
			binary.LittleEndian.PutUint32(p[atChecksum:], checksum(p))
		}
		got, err := parseFrame(p)
		if err != nil {
			wantError(t, err)
			return
		}
		if len(got.headerPart)+len(got.code) > len(p) {
			t.Errorf("%d and %d bytes of %d", len(got.headerPart), len(got.code), len(p))
		}
		again := appendFrame(nil, &got)
		if _, err := parseFrame(again); err != nil || len(again) != len(p) {
			t.Errorf("%x is written as %x", p, again)
		}
		if n := testing.AllocsPerRun(1, func() { parseFrame(p) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
