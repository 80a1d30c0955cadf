package consensus

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

func someFrame() *frame {
	return &frame{
		header: header{channel: 2, run: 7, epoch: 3, sender: 4, seq: 9, failure: failure{set: true, channel: 1, node: 5, seq: 8}},
		riding: []byte("riding"), code: []byte("the code"),
	}
}

// TestFrame: what is written is read again, and no byte can be changed, cut off or
// added unnoticed.
func TestFrame(t *testing.T) {
	f := someFrame()
	p := appendFrame([]byte("before"), f)[len("before"):]
	got := must[frame](t)(parseFrame(p))
	if got.header != f.header || !bytes.Equal(got.riding, f.riding) || !bytes.Equal(got.code, f.code) {
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
	silent.riding, silent.code = nil, nil
	if p := appendFrame(nil, silent); len(p) != HeaderLen {
		t.Errorf("a silent node sends %d bytes", len(p))
	}
}

// TestFrameLen: a header that claims more than there can be is refused.
func TestFrameLen(t *testing.T) {
	p := appendFrame(nil, someFrame())
	for _, at := range []int{atRiding, atCode} {
		q := bytes.Clone(p)
		binary.LittleEndian.PutUint32(q[at:], math.MaxUint32)
		_, err := FrameLen(q)
		wantError(t, err, "claims")
	}
	q := bytes.Clone(p)
	q[4]++
	_, err := FrameLen(q)
	wantError(t, err, "version 2, want 1")
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
		if len(got.riding)+len(got.code) > len(p) {
			t.Errorf("%d and %d bytes of %d", len(got.riding), len(got.code), len(p))
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

// FuzzHear: whatever code a peer sends, in a frame that is whole, decoding it does not
// panic, and gives finite numbers or an error.
func FuzzHear(f *testing.F) {
	all := codecs(f)
	s := shape{Stream: StreamBasis, D: 7, R: 2, Scalars: 3}
	l := layoutOf(s)
	v := make([]float64, l.n)
	for i, c := range all {
		v[i%len(v)] = 1.5
		code := appendRaw(nil, v)
		if c != nil {
			code = must[[]byte](f)(l.transcode(c, nil, v))
		}
		f.Add(i, code)
	}
	f.Fuzz(func(t *testing.T, i int, code []byte) {
		c := all[uint(i)%uint(len(all))]
		q := make([]float64, l.n)
		if err := l.decode(c, q, code); err != nil {
			wantError(t, err)
			return
		}
		if !finite(q) {
			t.Errorf("%v: %v", c, q)
		}
	})
}

// TestMaxLen: no code is longer, whatever it codes, and none much shorter.
func TestMaxLen(t *testing.T) {
	for _, c := range codecs(t)[1:] {
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
