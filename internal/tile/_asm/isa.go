package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is a tier for which tiles are generated. Tiers differ in the width of vectors, the number of
// registers, and in how the tail of a vector is masked and how accumulators are summed; the loops are the
// same.
type isa struct {
	name, constant string // in symbols, and in Go
	lanes          int    // float64 in a vector
	evex           bool   // masks have registers, and there are 32 vectors instead of 16
}

var tiers = []isa{{"avx2", "AVX2", 4, false}, {"avx512", "AVX512", 8, true}}

func (t isa) bytes() int { return 8 * t.lanes }

// vec returns a new vector register.
func (t isa) vec() reg.VecVirtual {
	if t.lanes == 8 {
		return ZMM()
	}
	return YMM()
}

func (t isa) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = t.vec()
	}
	return v
}

// zero clears registers.
func (t isa) zero(v ...reg.VecVirtual) {
	for _, r := range v {
		VXORPD(r, r, r)
	}
}

// mask limits loads and stores to some lanes of a vector of numbers.
type mask struct {
	t isa
	x *number
	k reg.Register
	y reg.VecVirtual
}

// maskFor returns the mask of n mod lanes lanes of float64, for n in a register that it destroys.
func (t isa) maskFor(n reg.GPVirtual) mask {
	ANDQ(U8(t.lanes-1), n)
	return double.firstLanes(t, n)
}

// firstLanes returns the mask of the first n lanes, for n up to all of them in a register that it destroys.
func (x *number) firstLanes(t isa, n reg.GPVirtual) mask {
	if t.evex {
		m := GP64()
		one := GP64()
		MOVQ(U32(1), one)
		SHLXQ(n, one, m)
		DECQ(m)
		k := K()
		KMOVW(m.As32(), k)
		return mask{t: t, x: x, k: k}
	}
	// Lane i is set if i < n: a window into ones and zeros.
	y := YMM()
	table := GP64()
	LEAQ(maskTable().Offset(32), table)
	SHLQ(U8(log2(x.size)), n)
	SUBQ(n, table)
	VMOVUPD(Mem{Base: table}, y)
	return mask{t: t, x: x, y: y}
}

// lastLanes returns the mask of the last n lanes, for 0 < n < lanes in a register.
func (x *number) lastLanes(t isa, n reg.GPVirtual) mask {
	if t.evex {
		m, shift := GP64(), GP64()
		MOVQ(U64(x.lanes(t)), shift)
		SUBQ(n, shift)
		MOVQ(U64(1<<x.lanes(t)-1), m)
		SHLXQ(shift, m, m)
		k := K()
		KMOVW(m.As32(), k)
		return mask{t: t, x: x, k: k}
	}
	y, table := YMM(), GP64()
	LEAQ(maskTable().Offset(32), table)
	VMOVUPD(Mem{Base: table, Index: n, Scale: uint8(x.size)}, y)
	return mask{t: t, x: x, y: y}
}

var maskData *Mem

// maskTable returns the table of 32 bytes of ones, 32 of zeros and 32 of ones.
func maskTable() Mem { return *maskData }

func emitMaskTable() {
	m := GLOBL("tailMask", 8|16) // RODATA|NOPTR
	for i := range 12 {
		v := uint64(0)
		if i < 4 || i >= 8 {
			v = ^uint64(0)
		}
		DATA(8*i, U64(v))
	}
	maskData = &m
}

// load loads the masked lanes and clears the others.
func (m mask) load(src Mem, dst reg.VecVirtual) {
	if m.t.evex {
		m.x.clearing(src, m.k, dst)
	} else {
		m.x.maskMove(src, m.y, dst)
	}
}

// store stores the masked lanes.
func (m mask) store(src reg.VecVirtual, dst Mem) {
	if m.t.evex {
		m.x.move(src, m.k, dst)
	} else {
		m.x.maskMove(src, m.y, dst)
	}
}

// clear clears the lanes that are not in the mask.
func (m mask) clear(v reg.VecVirtual) {
	if m.t.evex {
		VMOVAPD_Z(v, m.k, v)
	} else {
		VANDPD(m.y, v, v)
	}
}

// An access loads from and stores to addresses.
type access struct {
	load  func(Mem) vector
	store func(vector, Mem)
}

// whole is the access to whole vectors.
func (x *number) whole(t isa) access {
	return access{func(a Mem) vector {
		v := t.vec()
		x.move(a, v)
		return v
	}, func(v vector, a Mem) { x.move(v, a) }}
}

// masked is the access to the masked lanes.
func (m mask) masked() access {
	return access{func(a Mem) vector {
		v := m.t.vec()
		m.load(a, v)
		return v
	}, m.store}
}

// blended is masked for a vector that is all within the operand: what is not in the mask is stored as it was.
func (m mask) blended() access {
	return access{m.masked().load, func(v vector, a Mem) {
		old := m.t.vec()
		VMOVUPD(a, old)
		m.x.blend(m.y, v, old, old)
		VMOVUPD(old, a)
	}}
}

// loop emits a loop that runs body as long as the counter is positive; the
// counter decreases by one after each round. It must be positive at the start.
func loop(label string, counter reg.GPVirtual, body func()) {
	Label(label)
	body()
	DECQ(counter)
	JNZ(LabelRef(label))
}

// align has the loop that follows begin with a line of the instruction cache.
func align() {
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(64)}})
}

// param loads an integer or pointer parameter.
func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// mem returns the stack slot of a parameter, which may be read and written.
func mem(name string) Mem { return place(Param(name)) }

// slot returns that of a result. Store would write floats by SSE instructions, which cost much on some
// processors while the upper halves of vectors are in use.
func slot(name string) Mem { return place(Return(name)) }

func place(c gotypes.Component) Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// bytesParam loads a parameter that counts entries of size bytes, and scales it to bytes.
func bytesParam(name string, size int) reg.GPVirtual {
	p := param(name)
	SHLQ(U8(log2(size)), p)
	return p
}

// times returns 3, 5 or 7 times p.
func times(n int, p reg.GPVirtual) reg.GPVirtual {
	q := GP64()
	if n == 7 { // 8p - p
		MOVQ(p, q)
		SHLQ(U8(3), q)
		SUBQ(p, q)
	} else {
		LEAQ(Mem{Base: p, Index: p, Scale: uint8(n - 1)}, q)
	}
	return q
}

// rows addresses up to eight equidistant vectors from one pointer.
type rows struct {
	base, step reg.GPVirtual
	odd        [8]reg.GPVirtual // times the step, from 3 on
}

// newRows prepares the addresses of n vectors.
func newRows(base, step reg.GPVirtual, n int) rows {
	r := rows{base: base, step: step}
	for k := 3; k < n; k += 2 {
		r.odd[k] = times(k, step)
	}
	return r
}

// at returns the address of vector i, plus a displacement.
func (r rows) at(i, disp int) Mem {
	m := Mem{Base: r.base, Disp: disp}
	switch i {
	case 0:
	case 1, 2, 4:
		m.Index, m.Scale = r.step, uint8(i)
	case 6:
		m.Index, m.Scale = r.odd[3], 2
	default:
		m.Index, m.Scale = r.odd[i], 1
	}
	return m
}

// text begins a tile. A name that ends in a number, as in panel_12, is one size of an operation.
func text(name string, t isa, signature, doc string) {
	signature = record(name, t, signature)
	full := fmt.Sprintf("%s_%s", name, t.name)
	TEXT(full, NOSPLIT, signature)
	Doc(full + " " + doc)
	Pragma("noescape")
}

func finish() {
	VZEROUPPER()
	RET()
}

// vector is a register of the tier's width.
type vector = reg.VecVirtual

func log2(n int) uint8 { return uint8(bits.Len(uint(n)) - 1) }
