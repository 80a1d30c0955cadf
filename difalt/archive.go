package difalt

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// An archive writes the state of a run as bytes, checks whether bytes fit a run, and reads
// them: whatever has state describes it once, by the calls of a method state, for all three.
// Only reading changes what the calls point to. After the first error an archive does
// nothing but return zeros.
type archive struct {
	mode   archiveMode
	bytes  []byte // written so far, or yet to be read
	hosted []int
	of     string // the node that the next calls are about, for errors
	err    error
	// diverged says that numbers need not be finite, but for U.
	diverged bool
}

type archiveMode uint8

const (
	writing archiveMode = iota
	checking
	reading
)

// node says that the next calls are about hosted node i.
func (a *archive) node(i int) {
	if a.mode == checking {
		a.of = fmt.Sprintf(" of node %d", a.hosted[i])
	}
}

func (a *archive) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("difalt: snapshot"+a.of+": "+format, args...)
	}
}

// word writes v and returns it, or returns what was written.
func (a *archive) word(v uint64) uint64 {
	switch {
	case a.err != nil:
		return 0
	case a.mode == writing:
		a.bytes = binary.LittleEndian.AppendUint64(a.bytes, v)
		return v
	case len(a.bytes) < 8:
		a.fail("it ends too early")
		return 0
	}
	v = binary.LittleEndian.Uint64(a.bytes)
	a.bytes = a.bytes[8:]
	return v
}

// blob is bytes. Checking sets it too.
func (a *archive) blob(b *[]byte) {
	n := int(a.word(uint64(len(*b))))
	switch {
	case a.err != nil:
	case a.mode == writing:
		a.bytes = append(a.bytes, *b...)
	case n < 0 || n > len(a.bytes):
		a.fail("it ends too early")
	default:
		*b, a.bytes = a.bytes[:n], a.bytes[n:]
	}
}

// same is a text that must be the same here; the format takes what it is there and here.
func (a *archive) same(format, here string) {
	there := []byte(here)
	if a.blob(&there); string(there) != here {
		a.fail(format, string(there), here)
	}
}

// int returns the number too, which must be from least to most.
func (a *archive) int(what string, v *int, least, most int) int {
	n := int(int64(a.word(uint64(*v))))
	if n < least || n > most {
		a.fail("%s is %d: want %d to %d", what, n, least, most)
		return 0
	}
	if a.mode == reading {
		*v = n
	}
	return n
}

// bool returns the value too, so that what depends on it is there for all modes.
func (a *archive) bool(v *bool) bool {
	n := 0
	if *v {
		n = 1
	}
	is := a.int("a flag", &n, 0, 1) == 1
	if a.mode == reading {
		*v = is
	}
	return is
}

// number may be NaN or infinite.
func (a *archive) number(v *float64) {
	if n := math.Float64frombits(a.word(math.Float64bits(*v))); a.mode == reading {
		*v = n
	}
}

// int64 is for counts and times.
func (a *archive) int64(v *int64) {
	if n := int64(a.word(uint64(*v))); a.mode == reading {
		*v = n
	}
}

func (a *archive) traffic(t *wire.Traffic) {
	for _, v := range []*int64{&t.Rounds, &t.Messages, &t.Bytes, &t.Silent, &t.Lost} {
		a.int64(v)
	}
}

// floats are as many numbers as v has room for.
func (a *archive) floats(what string, v []float64) {
	if n := a.word(uint64(len(v))); n != uint64(len(v)) {
		a.fail("%s has %d entries, want %d", what, n, len(v))
		return
	}
	for k := range v {
		a.number(&v[k])
	}
}

// finite are such numbers that must not be NaN or infinite.
func (a *archive) finite(what string, v []float64) {
	if a.mode == checking && !a.diverged && a.err == nil && len(a.bytes) >= 8*(1+len(v)) {
		for k := range v {
			if x := math.Float64frombits(binary.LittleEndian.Uint64(a.bytes[8*(1+k):])); !finite(x) {
				a.fail("%s, entry %d is %v", what, k, x)
			}
		}
	}
	a.floats(what, v)
}

// list is a list of at most so many numbers, for which there is room.
func (a *archive) list(what string, v *[]float64, most int) {
	n := len(*v)
	n = a.int(what, &n, 0, most)
	if a.mode == reading {
		*v = (*v)[:n]
	}
	var none float64
	for k := range n {
		if a.mode == checking {
			a.number(&none)
			continue
		}
		a.number(&(*v)[k])
	}
}

// basis is d x r finite numbers, by columns.
func (a *archive) basis(what string, u *kernel.Basis) {
	_, r := u.Dims()
	for j := range r {
		a.finite(fmt.Sprintf("%s, column %d", what, j), u.Col(j))
	}
}
