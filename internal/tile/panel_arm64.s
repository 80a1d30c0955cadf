//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// LOADC and STOREC move 8 entries of a row of c, CLEARC sets them to zero.
#define LOADC(c, f0, f1, f2, f3) \
	FLDPQ (c), (f0, f1); \
	FLDPQ 32(c), (f2, f3)

#define STOREC(c, f0, f1, f2, f3) \
	FSTPQ.P (f0, f1), 64(c); \
	FSTPQ   (f2, f3), -32(c)

#define CLEARC(v0, v1, v2, v3) \
	ZERO(v0); ZERO(v1); ZERO(v2); ZERO(v3)

// TIMESW adds the product of the entry of w at index R14 from w and the 8 entries
// of z in V16 to V19.
#define TIMESW(w, s0, s1, s2, s3) \
	FMOVD (w)(R14), F20; \
	FMLAE(20, 16, s0); \
	FMLAE(20, 17, s1); \
	FMLAE(20, 18, s2); \
	FMLAE(20, 19, s3)

// A step adds the product of a column of w, of 1 to 4 rows, and a row of z.
#define STEP1 \
	SUB   $1, R16; \
	FLDPQ (R15), (F16, F17); \
	FLDPQ 32(R15), (F18, F19); \
	ADD   R13, R15; \
	TIMESW(R4, 0, 1, 2, 3)
#define STEP2 STEP1; TIMESW(R5, 4, 5, 6, 7)
#define STEP3 STEP2; TIMESW(R6, 8, 9, 10, 11)
#define STEP4 STEP3; TIMESW(R7, 12, 13, 14, 15)

// func panel_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, blocks int, add bool)
//
// It computes up to 4 rows of a product, c[i*ldc+k] = sum_j w[i*wi+j*wj] *
// z[j*ldz+k], i < m, j < n, k < 8*blocks, or adds it to c. R0 to R3 are rows of c,
// R4 to R7 rows of w, and R12 is a row of z; the sums of row i are in V(4i) to V(4i+3).
TEXT ·panel_4_neon(SB), NOSPLIT, $0-81
	MOVD  c+0(FP), R0
	MOVD  ldc+8(FP), R17
	MOVD  w+16(FP), R4
	MOVD  wi+24(FP), R19
	MOVD  wj+32(FP), R8
	MOVD  z+40(FP), R12
	MOVD  ldz+48(FP), R13
	MOVD  m+56(FP), R9
	MOVD  n+64(FP), R10
	MOVD  blocks+72(FP), R11
	MOVBU add+80(FP), R20
	ADD   R17<<3, R0, R1
	ADD   R17<<3, R1, R2
	ADD   R17<<3, R2, R3
	ADD   R19<<3, R4, R5
	ADD   R19<<3, R5, R6
	ADD   R19<<3, R6, R7
	LSL   $3, R8
	LSL   $3, R13

block:
	CBZ  R11, done
	SUB  $1, R11
	MOVD ZR, R14
	MOVD R12, R15
	MOVD R10, R16
	ADD  $64, R12
	CBNZ R20, load
	CLEARC(V0, V1, V2, V3)
	CLEARC(V4, V5, V6, V7)
	CLEARC(V8, V9, V10, V11)
	CLEARC(V12, V13, V14, V15)
	B    multiply

load:
	CMP $2, R9
	BLT load1
	BEQ load2
	CMP $4, R9
	BLT load3
	LOADC(R3, F12, F13, F14, F15)

load3:
	LOADC(R2, F8, F9, F10, F11)

load2:
	LOADC(R1, F4, F5, F6, F7)

load1:
	LOADC(R0, F0, F1, F2, F3)

multiply:
	CMP $2, R9
	BLT rows1
	BEQ rows2
	CMP $4, R9
	BLT rows3

rows4:
	CBZ R16, store4
	STEP4
	ADD R8, R14
	B   rows4

rows3:
	CBZ R16, store3
	STEP3
	ADD R8, R14
	B   rows3

rows2:
	CBZ R16, store2
	STEP2
	ADD R8, R14
	B   rows2

rows1:
	CBZ R16, store1
	STEP1
	ADD R8, R14
	B   rows1

store4:
	STOREC(R3, F12, F13, F14, F15)

store3:
	STOREC(R2, F8, F9, F10, F11)

store2:
	STOREC(R1, F4, F5, F6, F7)

store1:
	STOREC(R0, F0, F1, F2, F3)
	B block

done:
	RET
