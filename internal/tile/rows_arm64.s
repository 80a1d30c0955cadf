//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Operations on rows, entry by entry.

// AXPY adds the product of x = R1 and V0 to y = R0, for R2 entries of a size: whole cache lines, and then single
// entries that move copies. whole is log2 of the entries of a line.
#define AXPY(whole, fmla, move, size) \
	LSR $whole, R2, R3; \
	AND $((1<<whole)-1), R2; \
lines: \
	CBZ     R3, entries; \
	SUB     $1, R3; \
	FLDPQ.P 64(R1), (F16, F17); \
	FLDPQ   -32(R1), (F18, F19); \
	FLDPQ   (R0), (F20, F21); \
	FLDPQ   32(R0), (F22, F23); \
	fmla(0, 16, 20); \
	fmla(0, 17, 21); \
	fmla(0, 18, 22); \
	fmla(0, 19, 23); \
	FSTPQ.P (F20, F21), 64(R0); \
	FSTPQ   (F22, F23), -32(R0); \
	B       lines; \
entries: \
	CBZ    R2, done; \
	SUB    $1, R2; \
	move.P size(R1), F16; \
	move   (R0), F20; \
	fmla(0, 16, 20); \
	move.P F20, size(R0); \
	B      entries; \
done: \
	RET

// func axpy_neon(y, x *float64, by float64, n int)
TEXT ·axpy_neon(SB), NOSPLIT, $0-32
	MOVD  y+0(FP), R0
	MOVD  x+8(FP), R1
	FMOVD by+16(FP), F0
	MOVD  n+24(FP), R2
	AXPY(3, FMLAE, FMOVD, 8)

// func axpy32_neon(y, x *float32, by float32, n int)
TEXT ·axpy32_neon(SB), NOSPLIT, $0-32
	MOVD  y+0(FP), R0
	MOVD  x+8(FP), R1
	FMOVS by+16(FP), F0
	MOVD  n+24(FP), R2
	AXPY(4, FMLAE4, FMOVS, 4)

// func scale32_neon(x *float32, f float32, m int)
TEXT ·scale32_neon(SB), NOSPLIT, $0-24
	MOVD  x+0(FP), R0
	FMOVS f+8(FP), F0
	MOVD  m+16(FP), R1
	LSR   $2, R1, R2
	AND   $3, R1

fours:
	CBZ     R2, ones
	SUB     $1, R2
	FMOVQ   (R0), F1
	FMULE4(0, 1, 1)
	FMOVQ.P F1, 16(R0)
	B       fours

ones:
	CBZ     R1, done
	SUB     $1, R1
	FMOVS   (R0), F1
	FMULE4(0, 1, 1)
	FMOVS.P F1, 4(R0)
	B       ones

done:
	RET

// ROTATE rotates the vector in upper, of the upper row, and a vector of the row below it, at an offset.
#define ROTATE(offset, upper) \
	FMOVQ offset(R6), F16; \
	FMULE(31, 16, 17); \
	FMLAE(30, upper, 17); \
	FMULE(29, upper, upper); \
	FMLAE(30, 16, upper); \
	FMOVQ F17, offset(R0)

// func rotate_neon(z *float64, ldz int, c, s *float64, n int)
//
// The upper row, of 16 columns, is in V0 to V7; V29, V30 and V31 are -s, c and s of a pair.
TEXT ·rotate_neon(SB), NOSPLIT, $0-40
	MOVD z+0(FP), R0
	MOVD ldz+8(FP), R1
	MOVD c+16(FP), R2
	MOVD s+24(FP), R3
	MOVD n+32(FP), R4
	LSL  $3, R1
	MUL  R1, R4, R5
	ADD  R5, R0
	ADD  R4<<3, R2
	ADD  R4<<3, R3
	FLDPQ (R0), (F0, F1)
	FLDPQ 32(R0), (F2, F3)
	FLDPQ 64(R0), (F4, F5)
	FLDPQ 96(R0), (F6, F7)

pair:
	SUB   $1, R4
	SUB   $8, R2
	SUB   $8, R3
	FMOVD (R2), F30
	FMOVD (R3), F31
	FNEGD F31, F29
	SUB   R1, R0, R6
	ROTATE(0, 0)
	ROTATE(16, 1)
	ROTATE(32, 2)
	ROTATE(48, 3)
	ROTATE(64, 4)
	ROTATE(80, 5)
	ROTATE(96, 6)
	ROTATE(112, 7)
	MOVD  R6, R0
	CBNZ  R4, pair

	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	FSTPQ (F4, F5), 64(R0)
	FSTPQ (F6, F7), 96(R0)
	RET

// REFLECT updates 4 entries of a row by those of w, and adds their products with the next column to sums.
#define REFLECT(offset, s0, s1) \
	FLDPQ offset(R0), (F16, F17); \
	FLDPQ offset(R4), (F18, F19); \
	FMLSE(30, 18, 16); \
	FMLSE(30, 19, 17); \
	FSTPQ (F16, F17), offset(R0); \
	FMLAE(31, 16, s0); \
	FMLAE(31, 17, s1)

#define STORESUMS(offset, f0, f1, f2, f3) \
	FSTPQ (f0, f1), offset(R5); \
	FSTPQ (f2, f3), (offset+32)(R5)

// func reflect_neon(a, col, next *float64, ld int, w, sums *float64, scale, wnext float64, m, groups int)
//
// V30 is the entry of the column, V31 the entry of the next one.
TEXT ·reflect_neon(SB), NOSPLIT, $0-80
	MOVD  a+0(FP), R0
	MOVD  col+8(FP), R1
	MOVD  next+16(FP), R2
	MOVD  ld+24(FP), R3
	MOVD  w+32(FP), R4
	MOVD  sums+40(FP), R5
	FMOVD scale+48(FP), F28
	FMOVD wnext+56(FP), F29
	MOVD  m+64(FP), R6
	MOVD  groups+72(FP), R7
	LSL   $3, R3
	ZERO(V0)
	ZERO(V1)
	ZERO(V2)
	ZERO(V3)
	ZERO(V4)
	ZERO(V5)
	ZERO(V6)
	ZERO(V7)
	ZERO(V8)
	ZERO(V9)
	ZERO(V10)
	ZERO(V11)
	ZERO(V12)
	ZERO(V13)
	ZERO(V14)
	ZERO(V15)

row:
	FMOVD (R1), F30
	FMULD F28, F30
	FMOVD (R2), F31
	FMLSE(30, 29, 31)
	REFLECT(0, 0, 1)
	REFLECT(32, 2, 3)
	CMP   $2, R7
	BLT   stored
	REFLECT(64, 4, 5)
	REFLECT(96, 6, 7)
	BEQ   stored
	REFLECT(128, 8, 9)
	REFLECT(160, 10, 11)
	CMP   $4, R7
	BLT   stored
	REFLECT(192, 12, 13)
	REFLECT(224, 14, 15)

stored:
	FMOVD F30, (R1)
	ADD   R3, R0
	ADD   R3, R1
	ADD   R3, R2
	SUB   $1, R6
	CBNZ  R6, row

	STORESUMS(0, F0, F1, F2, F3)
	CMP   $2, R7
	BLT   done
	STORESUMS(64, F4, F5, F6, F7)
	BEQ   done
	STORESUMS(128, F8, F9, F10, F11)
	CMP   $4, R7
	BLT   done
	STORESUMS(192, F12, F13, F14, F15)

done:
	RET
