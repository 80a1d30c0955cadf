//go:build !purego

#include "textflag.h"

// Operations on pairs of numbers and rotations of vectors, number by number, for the instructions and
// registers of float64 or float32 and the size of a number.

// PAIRS is the body of addComplex_neon: the numbers at x = R1, and those next to them, times F0 to F3 are added
// to the numbers at y = R0. R3 counts pairs.
#define PAIRS(move, fmadd, size) \
	LSR $1, R3; \
pair: \
	CBZ    R3, done; \
	SUB    $1, R3; \
	move.P size(R1), F4; \
	move.P size(R1), F5; \
	move   (R0), F6; \
	move   size(R0), F7; \
	fmadd  F0, F6, F4, F6; \
	fmadd  F1, F7, F5, F7; \
	fmadd  F2, F6, F5, F6; \
	fmadd  F3, F7, F4, F7; \
	move.P F6, size(R0); \
	move.P F7, size(R0); \
	B      pair; \
done: \
	RET

// FACTORS loads four numbers at R2.
#define FACTORS(move, size) \
	move (R2), F0; \
	move size(R2), F1; \
	move (2*size)(R2), F2; \
	move (3*size)(R2), F3

// func addComplex_neon(y, x, by *float64, n int)
TEXT ·addComplex_neon(SB), NOSPLIT, $0-32
	MOVD y+0(FP), R0
	MOVD x+8(FP), R1
	MOVD by+16(FP), R2
	MOVD n+24(FP), R3
	FACTORS(FMOVD, 8)
	PAIRS(FMOVD, FMADDD, 8)

// func addComplex32_neon(y, x, by *float32, n int)
TEXT ·addComplex32_neon(SB), NOSPLIT, $0-32
	MOVD y+0(FP), R0
	MOVD x+8(FP), R1
	MOVD by+16(FP), R2
	MOVD n+24(FP), R3
	FACTORS(FMOVS, 4)
	PAIRS(FMOVS, FMADDS, 4)

// TIMES is the body of timesComplex_neon: the numbers at y = R0 become their products with F0 and F1, added to
// the products of the numbers next to them with F2 and F3.
#define TIMES(move, fmul, fmadd, size) \
	LSR $1, R3; \
pair: \
	CBZ    R3, done; \
	SUB    $1, R3; \
	move   (R0), F4; \
	move   size(R0), F5; \
	fmul   F2, F5, F6; \
	fmul   F3, F4, F7; \
	fmadd  F0, F6, F4, F6; \
	fmadd  F1, F7, F5, F7; \
	move.P F6, size(R0); \
	move.P F7, size(R0); \
	B      pair; \
done: \
	RET

// func timesComplex_neon(y, by *float64, n int)
TEXT ·timesComplex_neon(SB), NOSPLIT, $0-24
	MOVD y+0(FP), R0
	MOVD by+8(FP), R2
	MOVD n+16(FP), R3
	FACTORS(FMOVD, 8)
	TIMES(FMOVD, FMULD, FMADDD, 8)

// func timesComplex32_neon(y, by *float32, n int)
TEXT ·timesComplex32_neon(SB), NOSPLIT, $0-24
	MOVD y+0(FP), R0
	MOVD by+8(FP), R2
	MOVD n+16(FP), R3
	FACTORS(FMOVS, 4)
	TIMES(FMOVS, FMULS, FMADDS, 4)

// DOTS is the body of dotComplex_neon. A block has pairs pairs of x = R1 and of y = R2. The products of its
// numbers are added to the sums at R0, and products with the other number of a pair to sums block bytes further
// on. R3 counts blocks.
#define DOTS(move, fmadd, size, pairs, block) \
blocks: \
	CBZ  R3, done; \
	SUB  $1, R3; \
	MOVD R0, R4; \
	MOVD $pairs, R5; \
pair: \
	move.P size(R1), F0; \
	move.P size(R1), F1; \
	move.P size(R2), F2; \
	move.P size(R2), F3; \
	move   (R4), F4; \
	move   size(R4), F5; \
	move   block(R4), F6; \
	move   (block+size)(R4), F7; \
	fmadd  F2, F4, F0, F4; \
	fmadd  F3, F5, F1, F5; \
	fmadd  F3, F6, F0, F6; \
	fmadd  F2, F7, F1, F7; \
	move   F6, block(R4); \
	move   F7, (block+size)(R4); \
	move.P F4, size(R4); \
	move.P F5, size(R4); \
	SUB    $1, R5; \
	CBNZ   R5, pair; \
	B      blocks; \
done: \
	RET

// func dotComplex_neon(sums, x, y *float64, blocks int)
TEXT ·dotComplex_neon(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD x+8(FP), R1
	MOVD y+16(FP), R2
	MOVD blocks+24(FP), R3
	DOTS(FMOVD, FMADDD, 8, 8, 128)

// func dotComplex32_neon(sums, x, y *float32, blocks int)
TEXT ·dotComplex32_neon(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD x+8(FP), R1
	MOVD y+16(FP), R2
	MOVD blocks+24(FP), R3
	DOTS(FMOVS, FMADDS, 4, 16, 128)

// TURN is the body of turn_neon: x = R0 becomes a x + b y, and y = R1 becomes c x + d y, for a to d = F0 to F3. R3
// counts numbers.
#define TURN(move, fmul, fmadd, size) \
	move size(R2), F1; \
	move (2*size)(R2), F2; \
	move (3*size)(R2), F3; \
number: \
	CBZ    R3, done; \
	SUB    $1, R3; \
	move   (R0), F4; \
	move   (R1), F5; \
	fmul   F1, F5, F6; \
	fmadd  F0, F6, F4, F6; \
	fmul   F3, F5, F7; \
	fmadd  F2, F7, F4, F7; \
	move.P F6, size(R0); \
	move.P F7, size(R1); \
	B      number; \
done: \
	RET

// func turn_neon(x, y, by *float64, n int)
TEXT ·turn_neon(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  by+16(FP), R2
	MOVD  n+24(FP), R3
	FMOVD (R2), F0
	TURN(FMOVD, FMULD, FMADDD, 8)

// func turn32_neon(x, y, by *float32, n int)
TEXT ·turn32_neon(SB), NOSPLIT, $0-32
	MOVD  x+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  by+16(FP), R2
	MOVD  n+24(FP), R3
	FMOVS (R2), F0
	TURN(FMOVS, FMULS, FMADDS, 4)
