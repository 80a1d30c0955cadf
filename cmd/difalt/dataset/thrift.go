package dataset

import (
	"encoding/binary"
	"errors"
)

// maxNesting bounds the structs and lists around a value, and minStruct the bytes of a struct in a list:
// the shortest of Parquet is ColumnOrder.
const (
	maxNesting = 32
	minStruct  = 3
)

var errThrift = errors.New("its thrift data end too early, or claim more elements than its bytes can hold")

// thriftLen returns the length of the struct in thrift's compact protocol at the start of b. It refuses
// sizes that do not fit in b, so that a decoder allocates no memory for them.
func thriftLen(b []byte) (int, error) {
	w := thriftWalk{b: b}
	w.value(thriftStruct, 0)
	if w.bad {
		return 0, errThrift
	}
	return len(b) - len(w.b), nil
}

// A thriftWalk skips values at the start of b.
type thriftWalk struct {
	b   []byte
	bad bool
}

func (w *thriftWalk) skip(n uint64) (first byte) {
	if w.bad = w.bad || n > uint64(len(w.b)); w.bad || n == 0 {
		return 0
	}
	first, w.b = w.b[0], w.b[n:]
	return first
}

func (w *thriftWalk) varint() uint64 {
	v, n := binary.Uvarint(w.b)
	w.bad = w.bad || n <= 0
	w.skip(uint64(max(n, 0)))
	return v
}

const thriftStruct = 12

// value skips a value of a kind. Maps and UUIDs do not occur in Parquet.
func (w *thriftWalk) value(kind byte, nesting int) {
	w.bad = w.bad || nesting > maxNesting
	switch kind {
	case 1, 2, 3: // bool, byte
		w.skip(1)
	case 4, 5, 6: // integers
		w.varint()
	case 7: // float64
		w.skip(8)
	case 8: // text
		w.skip(w.varint())
	case 9, 10: // list, set
		head := w.skip(1)
		n, least := uint64(head>>4), 1
		if n == 15 {
			n = w.varint()
		}
		if head&15 == thriftStruct {
			least = minStruct
		}
		for w.bad = w.bad || n > uint64(len(w.b)/least); n > 0 && !w.bad; n-- {
			w.value(head&15, nesting+1)
		}
	case thriftStruct:
		for head := w.skip(1); head&15 != 0 && !w.bad; head = w.skip(1) {
			if head>>4 == 0 { // the number of the field is not the last one plus head>>4
				w.varint()
			}
			if head&15 > 2 { // the kind of true and false is their value
				w.value(head&15, nesting+1)
			}
		}
	default:
		w.bad = true
	}
}
