package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// solveUpper emits A = A R^-1 for a tall matrix A and an upper triangular R. Some vectors of rows at a time
// take all columns. So they are in the first-level cache when the columns to their right need them.
func solveUpper(t isa) {
	text("solveUpper", t, "func(a *float64, lda int, r *float64, ldr int, inv *float64, m, n int)",
		"overwrites the m x n matrix A by A R^-1, for R upper triangular with inv[k] = 1/R(k,k), m >= 1.")
	s := upperSolver{t: t, rows: param("a")}
	s.a, s.q = newRows(GP64(), bytesParam("lda", 8), 4), GP64()
	s.r = newRows(GP64(), bytesParam("ldr", 8), 4)
	tall := t.lanes / 2
	while("talls", mem("m"), tall*t.lanes, func() {
		s.solve("tall", tall, double.whole(t))
		SUBQ(I32(tall*t.lanes), mem("m"))
	})
	while("lows", mem("m"), 1, func() {
		rows, all := param("m"), fresh(I32(t.lanes)) // of one vector
		CMPQ(rows, all)
		CMOVQGT(all, rows)
		SUBQ(I32(t.lanes), mem("m"))
		s.solve("low", 1, double.firstLanes(t, rows))
	})
	finish()
}

type upperSolver struct {
	t    isa
	rows reg.GPVirtual // the first of the rows in work, in column 0
	a    rows          // these rows, in the columns in work
	q    reg.GPVirtual // and in a column to their left
	r    rows          // the columns in work of R
}

// solve emits all columns for some vectors of rows.
func (s upperSolver) solve(label string, vectors int, io access) {
	inv, left, r := param("inv"), param("n"), param("r")
	MOVQ(s.rows, s.a.base)
	for _, n := range []int{4, 1} {
		label := fmt.Sprint(label, n)
		while(label, left, n, func() {
			s.columns(label, n, vectors, io, r, inv)
			for range n {
				ADDQ(s.a.step, s.a.base)
				ADDQ(s.r.step, r)
			}
			advance(8*n, inv)
			SUBQ(I32(n), left)
		})
	}
	advance(vectors*s.t.bytes(), s.rows)
}

// columns emits n columns, which follow those that are solved.
func (s upperSolver) columns(label string, n, vectors int, io access, r, inv reg.GPVirtual) {
	t := s.t
	acc := make([][]vector, n)
	for j := range acc {
		acc[j] = make([]vector, vectors)
		for v := range acc[j] {
			acc[j][v] = io.load(s.a.at(j, v*t.bytes()))
		}
	}
	MOVQ(r, s.r.base)
	MOVQ(s.rows, s.q)
	done := label + "Solved"
	Label(label + "Column")
	CMPQ(s.q, s.a.base)
	JEQ(LabelRef(done))
	q := make([]vector, vectors)
	for v := range q {
		q[v] = io.load(Mem{Base: s.q, Disp: v * t.bytes()})
	}
	for j := range acc {
		s.subtract(acc[j], q, s.r.at(j, 0))
	}
	ADDQ(s.a.step, s.q)
	ADDQ(I32(8), s.r.base)
	JMP(LabelRef(label + "Column"))
	Label(done)
	for j := range acc {
		f := t.broadcast(Mem{Base: inv, Disp: 8 * j})
		for v := range acc[j] {
			VMULPD(f, acc[j][v], acc[j][v])
			io.store(acc[j][v], s.a.at(j, v*t.bytes()))
		}
		for k := j + 1; k < n; k++ {
			s.subtract(acc[k], acc[j], s.r.at(k, 8*j))
		}
	}
}

// subtract emits acc -= q R(i,j).
func (s upperSolver) subtract(acc, q []vector, entry Mem) {
	f := s.t.broadcast(entry)
	for v := range acc {
		VFNMADD231PD(f, q[v], acc[v])
	}
}
