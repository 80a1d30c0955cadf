package difalt

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/difalt/difalt/kernel"
)

// An archive writes the state of a run as bytes, checks whether bytes fit a run, and reads
// them: whatever has state describes it once, by the calls of a method state, for all three.
// Only reading changes what the calls point to. After the first error an archive does
// nothing but return what it is given.
type archive struct {
	mode   archiveMode
	bytes  []byte // written so far, or yet to be read
	hosted []int
	of     string // the node that the next calls are about, for errors
	err    error
	// diverged says that numbers need not be finite.
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

// data is what package binary can write: a pointer to numbers of a fixed size, or a slice.
func (a *archive) data(v any) {
	switch {
	case a.err != nil:
	case a.mode == writing:
		a.bytes, a.err = binary.Append(a.bytes, binary.LittleEndian, v)
	default:
		n, err := binary.Decode(a.bytes, binary.LittleEndian, v)
		if err != nil {
			a.fail("it ends too early")
		}
		a.bytes = a.bytes[n:]
	}
}

// carry is for a value that package binary can write. It returns the value too, which in
// checking is that of the bytes, so that what depends on it is there for all modes.
func carry[T any](a *archive, v *T) T {
	value := *v
	a.data(&value)
	if a.mode == reading {
		*v = value
	}
	return value
}

// int must be from least to most.
func (a *archive) int(what string, v *int, least, most int) int {
	n := int64(*v)
	if n = carry(a, &n); a.err == nil && (n < int64(least) || n > int64(most)) {
		a.fail("%s is %d: want %d to %d", what, n, least, most)
		return least
	}
	if a.mode == reading {
		*v = int(n)
	}
	return int(n)
}

// floats are as many numbers as v has, finite ones.
func (a *archive) floats(what string, v []float64) {
	if a.mode == checking {
		v = make([]float64, len(v))
	}
	a.data(v)
	if k := slices.IndexFunc(v, func(x float64) bool { return !finite(x) }); k >= 0 && a.mode == checking && !a.diverged {
		a.fail("%s, entry %d is %v", what, k, v[k])
	}
}

// basis is d x r finite numbers, by columns.
func (a *archive) basis(what string, u *kernel.Basis) {
	_, r := u.Dims()
	for j := range r {
		a.floats(fmt.Sprintf("%s, column %d", what, j), u.Col(j))
	}
}

// blob is bytes. Checking sets it too.
func (a *archive) blob(b *[]byte) {
	n := len(*b)
	size := int64(n)
	if a.data(&size); a.err == nil && a.mode != writing {
		if size < 0 || size > int64(len(a.bytes)) {
			a.fail("it ends too early")
			return
		}
		*b = make([]byte, size)
	}
	a.data(*b)
}

// same is a text that must be the same here; the format takes what it is there and here.
func (a *archive) same(format, here string) {
	there := []byte(here)
	if a.blob(&there); string(there) != here {
		a.fail(format, string(there), here)
	}
}
