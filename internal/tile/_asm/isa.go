package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
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
	part           string // begins the labels of a part of a tile
}

var tiers = []isa{{"avx2", "AVX2", 4, false, ""}, {"avx512", "AVX512", 8, true, ""}}

func (t isa) bytes() int { return 8 * t.lanes }

// vec returns a new vector register.
func (t isa) vec() reg.VecVirtual {
	switch t.lanes {
	case 8:
		return ZMM()
	case 2:
		return XMM()
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

// zeros returns n registers that are cleared.
func (t isa) zeros(n int) []vector {
	v := t.vecs(n)
	t.zero(v...)
	return v
}

// load returns a vector of float64 in a register, and broadcast one number in all of its lanes.
func (t isa) load(from Op) vector {
	v := t.vec()
	VMOVUPD(from, v)
	return v
}

func (t isa) broadcast(from Op) vector {
	v := t.vec()
	VBROADCASTSD(from, v)
	return v
}

// store stores vectors of float64 one behind the other.
func (t isa) store(to reg.GPVirtual, v ...vector) {
	for i := range v {
		VMOVUPD(v[i], Mem{Base: to, Disp: i * t.bytes()})
	}
}

// An access loads from and stores to addresses, and clears what it does not store. into loads to a register.
// operand returns a source of an instruction: the address itself where all lanes are read. A separate load
// would take an entry of the processor's window of instructions, and fewer cache lines would be on their way
// from memory. flush stores what is held back. A masked access may keep its mask in a vector.
type access struct {
	load    func(Mem) vector
	into    func(Mem, vector)
	operand func(Mem) Op
	store   func(vector, Mem)
	clear   func(vector)
	flush   func()
	masked  bool
}

// whole is the access to whole vectors.
func (x *number) whole(t isa) access {
	io := access{clear: func(vector) {}, flush: func() {}}
	io.into = func(a Mem, v vector) { x.move(a, v) }
	io.load = t.loading(io.into)
	io.operand = func(a Mem) Op { return a }
	io.store = func(v vector, a Mem) { x.move(v, a) }
	return io
}

// loading returns the load into a new register.
func (t isa) loading(into func(Mem, vector)) func(Mem) vector {
	return func(a Mem) vector {
		v := t.vec()
		into(a, v)
		return v
	}
}

// held returns the access to whole vectors that are stored together, by flush.
func (x *number) held(t isa) access {
	var stores []func()
	io := x.whole(t)
	io.store = func(v vector, a Mem) { stores = append(stores, func() { x.move(v, a) }) }
	io.flush = func() {
		for _, store := range stores {
			store()
		}
		stores = nil
	}
	return io
}

// firstLanes returns the access to the first n lanes of vectors, for n up to all of them in a register that
// it destroys.
func (x *number) firstLanes(t isa, n reg.GPVirtual) access {
	if !t.evex {
		NEGQ(n)
	}
	masked, _ := x.lanesFrom(t, n, SHRXQ)
	return masked
}

// lastLanes returns the access to the last n lanes, and one to vectors that are all within an operand: what
// it does not store is stored as it was, which is faster on some processors.
func (x *number) lastLanes(t isa, n reg.GPVirtual) (masked, blended access) {
	return x.lanesFrom(t, n, SHLXQ)
}

// lanesFrom makes a mask: all bits, shifted by as many lanes as are not in it, or a window into ones, zeros
// and ones.
func (x *number) lanesFrom(t isa, n reg.GPVirtual, shift func(count, from, to Op)) (masked, blended access) {
	masked.masked = true
	if t.evex {
		bits, k := fresh(U64(1<<x.lanes(t)-1)), K()
		NEGQ(n)
		ADDQ(I8(x.lanes(t)), n)
		shift(n, bits, bits)
		KMOVW(bits.As32(), k)
		masked.into = func(a Mem, v vector) { x.clearing(a, k, v) }
		masked.load = t.loading(masked.into)
		masked.operand = func(a Mem) Op { return masked.load(a) }
		masked.store = func(v vector, a Mem) { x.move(v, k, a) }
		masked.clear = func(v vector) { VMOVAPD_Z(v, k, v) }
		return masked, masked
	}
	table, y := GP64(), YMM()
	LEAQ(maskTable.Offset(32), table)
	VMOVUPD(Mem{Base: table, Index: n, Scale: uint8(x.size)}, y)
	masked.into = func(a Mem, v vector) { x.maskMove(a, y, v) }
	masked.load = t.loading(masked.into)
	masked.operand = func(a Mem) Op { return masked.load(a) }
	masked.store = func(v vector, a Mem) { x.maskMove(v, y, a) }
	masked.clear = func(v vector) { VANDPD(y, v, v) }
	blended = masked
	blended.store = func(v vector, a Mem) {
		old := t.load(a)
		x.blend(y, v, old, old)
		VMOVUPD(old, a)
	}
	return masked, blended
}

// partOfVector is firstLanes with a store by bits with AVX2.
func (x *number) partOfVector(t isa, n reg.GPVirtual) access {
	if t.evex {
		return x.firstLanes(t, n)
	}
	store := x.storeByBits(local(n))
	part := x.firstLanes(t, n)
	part.store = store
	return part
}

// storeByBits returns the store of the first lanes of a vector of AVX2, up to all of them. The last bits of n
// are their number, and each of these has a store. With a mask a store of eight lanes takes 12 cycles or more
// on AMD's processors, and one of four lanes 6.
func (x *number) storeByBits(n Mem) func(v vector, to Mem) {
	stores := 0
	return func(v vector, to Mem) {
		label := func(lanes int) string { return fmt.Sprintf("lanes%dof%d", lanes, stores) }
		all := x.lanes(tiers[0])
		TESTQ(I32(all), n)
		JZ(LabelRef(label(all)))
		x.move(v, to)
		JMP(LabelRef(label(1)))
		Label(label(all))
		at, low := GP64(), XMM()
		LEAQ(to, at)
		VMOVAPD(v.AsX(), low)
		for lanes := all / 2; lanes > 0; lanes /= 2 {
			TESTQ(I32(lanes), n)
			JZ(LabelRef(label(lanes)))
			switch lanes * x.size {
			case 16:
				x.move(low, Mem{Base: at})
				VEXTRACTF128(U8(1), v, low)
			case 8:
				VMOVSD(low, Mem{Base: at})
				if lanes > 1 {
					VPERMILPD(U8(1), low, low)
				}
			case 4:
				VMOVSS(low, Mem{Base: at})
			}
			if lanes > 1 {
				advance(lanes*x.size, at)
			}
			Label(label(lanes))
		}
		stores++
	}
}

// maskTable has 32 bytes of ones, 32 of zeros and 32 of ones.
var maskTable Mem

func emitMaskTable() {
	maskTable = GLOBL("tailMask", 8|16) // RODATA|NOPTR
	for i := range 12 {
		v := uint64(0)
		if i < 4 || i >= 8 {
			v = ^uint64(0)
		}
		DATA(8*i, U64(v))
	}
}

// loop emits a loop that runs body as long as the counter is positive; the
// counter decreases by one after each round. It must be positive at the start.
func loop(label string, counter reg.GPVirtual, body func()) {
	Label(label)
	body()
	DECQ(counter)
	JNZ(LabelRef(label))
}

// repeat emits loop for a counter that may be zero.
func repeat(label string, counter reg.GPVirtual, body func()) {
	TESTQ(counter, counter)
	JZ(LabelRef(label + "Done"))
	loop(label, counter, body)
	Label(label + "Done")
}

// while emits a loop that runs body as long as n is at least size.
func while(label string, n Op, size int, body func()) {
	Label(label)
	CMPQ(n, I32(size))
	JL(LabelRef(label + "End"))
	body()
	JMP(LabelRef(label))
	Label(label + "End")
}

// advance adds a number of bytes to pointers.
func advance(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		ADDQ(I32(bytes), p)
	}
}

// fresh returns a register with a value, and local a place on the stack.
func fresh(value Op) reg.GPVirtual {
	p := GP64()
	MOVQ(value, p)
	return p
}

func local(value reg.GPVirtual) Mem {
	m := AllocLocal(8)
	MOVQ(value, m)
	return m
}

// sum returns the address a + b*scale + disp in a register.
func sum(a, b reg.GPVirtual, scale uint8, disp int) reg.GPVirtual {
	p := GP64()
	LEAQ(Mem{Base: a, Index: b, Scale: scale, Disp: disp}, p)
	return p
}

// param loads an integer or pointer parameter.
func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// mem returns the stack slot of a parameter, which may be read and written.
func mem(name string) Mem { return place(Param(name)) }

// slot returns the stack slot of a result. Store would write floats by SSE instructions, which cost much on
// some processors while the upper halves of vectors are in use.
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

// rows addresses up to eight equidistant vectors from one pointer, or up to four at distances that grow.
type rows struct {
	base, step reg.GPVirtual
	second     reg.GPVirtual    // the offset of vector 2 where distances grow
	odd        [8]reg.GPVirtual // times the step, from 3 on, or the offset of vector 3 where distances grow
}

// newRows prepares the addresses of n vectors.
func newRows(base, step reg.GPVirtual, n int) rows {
	r := rows{base: base, step: step}
	for k := 3; k < n; k += 2 {
		r.odd[k] = times(k, step)
	}
	return r
}

// newGrowingRows is newRows for vectors at distances that grow by a number of bytes from one to the next.
func newGrowingRows(base, step, growth reg.GPVirtual, n int) rows {
	r := rows{base: base, step: step}
	if n > 2 {
		r.second = sum(growth, step, 2, 0)
	}
	if n > 3 {
		r.odd[3] = sum(growth, growth, 2, 0)
		ADDQ(times(3, step), r.odd[3])
	}
	return r
}

// at returns the address of vector i, plus a displacement.
func (r rows) at(i, disp int) Mem {
	m := Mem{Base: r.base, Disp: disp}
	if i == 2 && r.second != nil {
		m.Index, m.Scale = r.second, 1
		return m
	}
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
}

func finish() {
	VZEROUPPER()
	RET()
}

// vector is a register of the tier's width.
type vector = reg.VecVirtual

func log2(n int) uint8 { return uint8(bits.Len(uint(n)) - 1) }
