//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Operations of one vector x on up to 4 columns of a matrix, of any length m. The
// first m mod 4 entries come first: a load of one entry clears the other lane,
// which then adds nothing.

// FOUR sets up R5 to R7 as columns 1 to 3 of the c = R3 columns from R4 on; columns
// that do not exist repeat the last one.
#define FOUR(ld) \
	ADD  ld<<3, R4, R5; \
	CMP  $2, R3; \
	CSEL GE, R5, R4, R5; \
	ADD  ld<<3, R5, R6; \
	CMP  $3, R3; \
	CSEL GE, R6, R5, R6; \
	ADD  ld<<3, R6, R7; \
	CMP  $4, R3; \
	CSEL GE, R7, R6, R7

// func addSquares_neon(sums, x *float64, blocks int)
//
// It adds the 8 partial sums of the squares of x to sums.
TEXT ·addSquares_neon(SB), NOSPLIT, $0-24
	MOVD sums+0(FP), R0
	MOVD x+8(FP), R1
	MOVD blocks+16(FP), R8
	ZERO(V0)
	ZERO(V1)
	ZERO(V2)
	ZERO(V3)

loop:
	CBZ     R8, done
	SUB     $1, R8
	FLDPQ.P 64(R1), (F16, F17)
	FLDPQ   -32(R1), (F18, F19)
	VFMLA   V16.D2, V16.D2, V0.D2
	VFMLA   V17.D2, V17.D2, V1.D2
	VFMLA   V18.D2, V18.D2, V2.D2
	VFMLA   V19.D2, V19.D2, V3.D2
	B       loop

done:
	FLDPQ (R0), (F4, F5)
	FLDPQ 32(R0), (F6, F7)
	FADD2(4, 0, 0)
	FADD2(5, 1, 1)
	FADD2(6, 2, 2)
	FADD2(7, 3, 3)
	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	RET

// func axpys_4_neon(f, x, a *float64, lda, c, m int)
//
// It computes a_j -= f[j] x for j < c. All columns are read before one is written, so
// that the repeated last column is the same every time.
TEXT ·axpys_4_neon(SB), NOSPLIT, $0-48
	MOVD  f+0(FP), R4
	MOVD  lda+24(FP), R2
	MOVD  c+32(FP), R3
	MOVD  m+40(FP), R8
	MOVD  $1, R9
	FOUR(R9)
	FMOVD (R4), F0
	FMOVD (R5), F1
	FMOVD (R6), F2
	FMOVD (R7), F3
	MOVD  x+8(FP), R1
	MOVD  a+16(FP), R4
	FOUR(R2)

	TBZ     $0, R8, even
	FMOVD.P 8(R1), F16
	FMOVD   (R4), F18
	FMOVD   (R5), F20
	FMOVD   (R6), F22
	FMOVD   (R7), F24
	FMLSE(0, 16, 18)
	FMLSE(1, 16, 20)
	FMLSE(2, 16, 22)
	FMLSE(3, 16, 24)
	FMOVD.P F18, 8(R4)
	FMOVD.P F20, 8(R5)
	FMOVD.P F22, 8(R6)
	FMOVD.P F24, 8(R7)

even:
	TBZ     $1, R8, fours
	FMOVQ.P 16(R1), F16
	FMOVQ   (R4), F18
	FMOVQ   (R5), F20
	FMOVQ   (R6), F22
	FMOVQ   (R7), F24
	FMLSE(0, 16, 18)
	FMLSE(1, 16, 20)
	FMLSE(2, 16, 22)
	FMLSE(3, 16, 24)
	FMOVQ.P F18, 16(R4)
	FMOVQ.P F20, 16(R5)
	FMOVQ.P F22, 16(R6)
	FMOVQ.P F24, 16(R7)

fours:
	LSR $2, R8

loop:
	CBZ     R8, done
	SUB     $1, R8
	FLDPQ.P 32(R1), (F16, F17)
	FLDPQ   (R4), (F18, F19)
	FLDPQ   (R5), (F20, F21)
	FLDPQ   (R6), (F22, F23)
	FLDPQ   (R7), (F24, F25)
	FMLSE(0, 16, 18)
	FMLSE(0, 17, 19)
	FMLSE(1, 16, 20)
	FMLSE(1, 17, 21)
	FMLSE(2, 16, 22)
	FMLSE(2, 17, 23)
	FMLSE(3, 16, 24)
	FMLSE(3, 17, 25)
	FSTPQ.P (F18, F19), 32(R4)
	FSTPQ.P (F20, F21), 32(R5)
	FSTPQ.P (F22, F23), 32(R6)
	FSTPQ.P (F24, F25), 32(R7)
	B       loop

done:
	RET

// func scale_neon(x *float64, f float64, m int)
//
// It multiplies x by f.
TEXT ·scale_neon(SB), NOSPLIT, $0-24
	MOVD  x+0(FP), R0
	FMOVD f+8(FP), F0
	MOVD  m+16(FP), R1

	TBZ     $0, R1, even
	FMOVD   (R0), F1
	FMULD   F0, F1
	FMOVD.P F1, 8(R0)

even:
	LSR $1, R1

loop:
	CBZ     R1, done
	SUB     $1, R1
	FMOVQ   (R0), F1
	FMULE(0, 1, 1)
	FMOVQ.P F1, 16(R0)
	B       loop

done:
	RET
