package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

var (
	someOrigin = Origin{Run: 7, Epoch: 3, Node: 4}
	someFrame  = frame{
		channel: 2, failure: failure{set: true, channel: 1, node: 5, seq: 800, time: 3},
		headerPart: []byte("headerPart"), code: []byte("the code"),
	}
)

const someNumber = 1<<40 + 9

var someSeed = someOrigin.seed()

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
// added unnoticed, nor can it be taken for another frame, of another node or of another run.
func TestFrame(t *testing.T) {
	p := someFrame.append([]byte("before"), someOrigin.seed(), someNumber)[len("before"):]
	var got frame
	if err := got.parse(p, someSeed, someNumber); err != nil || !reflect.DeepEqual(got, someFrame) {
		t.Errorf("%+v, want %+v: %v", got, someFrame, err)
	}
	if n, ok := FrameNumber(p); n != 9 || !ok {
		t.Errorf("number %d, %v", n, ok)
	}
	if extra := len(p) - len(got.headerPart) - len(got.code); extra > MaxHeader {
		t.Errorf("a header of %d bytes, more than %d", extra, MaxHeader)
	}
	wrong := func(what string, p []byte, o Origin, n uint64) {
		t.Helper()
		if err := new(frame).parse(p, o.seed(), n); err == nil {
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
	wrong("a byte too many", append(p, 0), someOrigin, someNumber)
	wrong("another run", p, Origin{8, 3, 4}, someNumber)
	wrong("another epoch", p, Origin{7, 2, 4}, someNumber)
	wrong("another node", p, Origin{7, 3, 5}, someNumber)
	for _, n := range []uint64{someNumber - 1, someNumber + 1, someNumber + 256, someNumber - 256, someNumber + 1<<31} {
		wrong("another number", p, someOrigin, n)
	}
}

// TestFrameOverhead: a header has no more bytes than are said, and counted.
func TestFrameOverhead(t *testing.T) {
	for _, n := range []int{1, 127, 128, 1 << 14, 1 << 20} {
		f := frame{channel: Sum, code: make([]byte, 10)}
		if p := f.append(nil, someSeed, someNumber); len(p) != FrameOverhead+10 {
			t.Errorf("a frame with a code of 10 bytes has %d", len(p))
		}
		f.headerPart = make([]byte, n)
		if p := f.append(nil, someSeed, someNumber); int64(len(p)) != FrameOverhead+10+PartBytes(n) {
			t.Errorf("a frame with a code of 10 bytes and a part of %d has %d", n, len(p))
		}
	}
	silent := frame{channel: StreamBasis}
	if p := silent.append(nil, someSeed, someNumber); len(p) != FrameOverhead {
		t.Errorf("a silent node sends %d bytes", len(p))
	}
}

// FuzzFrame: whatever comes, the decoder does not panic or allocate, and what it takes
// for a frame is written as one with the same meaning.
func FuzzFrame(f *testing.F) {
	f.Add(someFrame.append(nil, someSeed, someNumber))
	f.Add(new(frame).append(nil, someSeed, someNumber))
	f.Fuzz(func(t *testing.T, p []byte) {
		if end := len(p) - checksumLen; len(p) >= FrameOverhead { // otherwise nothing passes
			p = bytes.Clone(p)
			p[1] = someNumber & 255
			binary.LittleEndian.PutUint32(p[end:], someSeed.checksum(p[:end], someNumber))
		}
		var got, again frame
		if err := got.parse(p, someSeed, someNumber); err != nil {
			wantError(t, err)
			return
		}
		if len(got.headerPart)+len(got.code) > len(p) {
			t.Errorf("%d and %d bytes of %d", len(got.headerPart), len(got.code), len(p))
		}
		if err := again.parse(got.append(nil, someSeed, someNumber), someSeed, someNumber); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%x is %+v, and then %+v, %v", p, got, again, err)
		}
		if n := testing.AllocsPerRun(1, func() { _ = got.parse(p, someSeed, someNumber) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
