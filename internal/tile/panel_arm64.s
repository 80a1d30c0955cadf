//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// LOADC and STOREC move a cache line of a row of c, CLEARC sets its entries to zero.
#define LOADC(c, f0, f1, f2, f3) \
	FLDPQ (c), (f0, f1); \
	FLDPQ 32(c), (f2, f3)

#define STOREC(c, f0, f1, f2, f3) \
	FSTPQ.P (f0, f1), 64(c); \
	FSTPQ   (f2, f3), -32(c)

#define CLEARC(v0, v1, v2, v3) \
	ZERO(v0); ZERO(v1); ZERO(v2); ZERO(v3)

// TIMESW adds the product of the entry of w at index R14 from w and a cache line of a row of z in V16 to V19.
#define TIMESW(w, s0, s1, s2, s3) \
	FMOVD (w)(R14), F20; \
	FMLAE(20, 16, s0); \
	FMLAE(20, 17, s1); \
	FMLAE(20, 18, s2); \
	FMLAE(20, 19, s3)

// TIMESW32 is TIMESW for float32.
#define TIMESW32(w, s0, s1, s2, s3) \
	FMOVS (w)(R14), F20; \
	FMLAE4(20, 16, s0); \
	FMLAE4(20, 17, s1); \
	FMLAE4(20, 18, s2); \
	FMLAE4(20, 19, s3)

// A step adds the product of a column of w, of 1 to 4 rows, and a row of z.
#define STEP1(times) \
	SUB   $1, R16; \
	FLDPQ (R15), (F16, F17); \
	FLDPQ 32(R15), (F18, F19); \
	ADD   R13, R15; \
	times(R4, 0, 1, 2, 3)
#define STEP2(times) STEP1(times); times(R5, 4, 5, 6, 7)
#define STEP3(times) STEP2(times); times(R6, 8, 9, 10, 11)
#define STEP4(times) STEP3(times); times(R7, 12, 13, 14, 15)

// PANEL computes R11 cache lines of columns for R9 <= 4 rows. R0 to R3 are rows of c, R4 to R7 rows of w, and
// R12 is a row of z; the sums of row i are in V(4i) to V(4i+3). shift is log2 of the size of an entry.
#define PANEL(shift, times) \
	ADD R17<<shift, R0, R1; \
	ADD R17<<shift, R1, R2; \
	ADD R17<<shift, R2, R3; \
	ADD R19<<shift, R4, R5; \
	ADD R19<<shift, R5, R6; \
	ADD R19<<shift, R6, R7; \
	LSL $shift, R8; \
	LSL $shift, R13; \
block: \
	CBZ  R11, done; \
	SUB  $1, R11; \
	MOVD ZR, R14; \
	MOVD R12, R15; \
	MOVD R10, R16; \
	ADD  $64, R12; \
	CBNZ R20, load; \
	CLEARC(V0, V1, V2, V3); \
	CLEARC(V4, V5, V6, V7); \
	CLEARC(V8, V9, V10, V11); \
	CLEARC(V12, V13, V14, V15); \
	B    multiply; \
load: \
	CMP $2, R9; \
	BLT load1; \
	BEQ load2; \
	CMP $4, R9; \
	BLT load3; \
	LOADC(R3, F12, F13, F14, F15); \
load3: \
	LOADC(R2, F8, F9, F10, F11); \
load2: \
	LOADC(R1, F4, F5, F6, F7); \
load1: \
	LOADC(R0, F0, F1, F2, F3); \
multiply: \
	CMP $2, R9; \
	BLT rows1; \
	BEQ rows2; \
	CMP $4, R9; \
	BLT rows3; \
rows4: \
	CBZ R16, store4; \
	STEP4(times); \
	ADD R8, R14; \
	B   rows4; \
rows3: \
	CBZ R16, store3; \
	STEP3(times); \
	ADD R8, R14; \
	B   rows3; \
rows2: \
	CBZ R16, store2; \
	STEP2(times); \
	ADD R8, R14; \
	B   rows2; \
rows1: \
	CBZ R16, store1; \
	STEP1(times); \
	ADD R8, R14; \
	B   rows1; \
store4: \
	STOREC(R3, F12, F13, F14, F15); \
store3: \
	STOREC(R2, F8, F9, F10, F11); \
store2: \
	STOREC(R1, F4, F5, F6, F7); \
store1: \
	STOREC(R0, F0, F1, F2, F3); \
	B block; \
done: \
	RET

// func panel_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, blocks int, add bool)
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
	PANEL(3, TIMESW)

// func panel32_4_neon(c *float32, ldc int, w *float32, wi, wj int, z *float32, ldz, m, n, blocks int, add bool)
TEXT ·panel32_4_neon(SB), NOSPLIT, $0-81
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
	PANEL(2, TIMESW32)

// The columns beside whole cache lines: rows that do not exist repeat the last row, which is computed and stored
// several times then.

// REST sets up the rows, for entries of a size with the binary logarithm shift.
#define REST(shift) \
	LSL  $shift, R17; \
	LSL  $shift, R19; \
	ADD  R17, R0, R1; \
	ADD  R19, R4, R5; \
	CMP  $2, R9; \
	CSEL GE, R1, R0, R1; \
	CSEL GE, R5, R4, R5; \
	ADD  R17, R1, R2; \
	ADD  R19, R5, R6; \
	CMP  $3, R9; \
	CSEL GE, R2, R1, R2; \
	CSEL GE, R6, R5, R6; \
	ADD  R17, R2, R3; \
	ADD  R19, R6, R7; \
	CMP  $4, R9; \
	CSEL GE, R3, R2, R3; \
	CSEL GE, R7, R6, R7; \
	LSL  $shift, R8; \
	LSL  $shift, R13

// BEGIN goes to the first entries of w and z.
#define BEGIN \
	MOVD ZR, R14; \
	MOVD R12, R15; \
	MOVD R10, R16

// NEXT moves on by some bytes of columns.
#define NEXT(bytes) \
	ADD $bytes, R0; \
	ADD $bytes, R1; \
	ADD $bytes, R2; \
	ADD $bytes, R3; \
	ADD $bytes, R12

// PART computes the columns of a vector, or a part of a vector, of some bytes that move copies.
#define PART(bytes, move, movew, fmla, sums, loop, store) \
	BEGIN; \
	ZERO(V0); ZERO(V1); ZERO(V2); ZERO(V3); \
	CBZ  R20, sums; \
	move (R0), F0; \
	move (R1), F1; \
	move (R2), F2; \
	move (R3), F3; \
sums: \
loop: \
	CBZ   R16, store; \
	SUB   $1, R16; \
	move  (R15), F16; \
	ADD   R13, R15; \
	movew (R4)(R14), F20; \
	movew (R5)(R14), F21; \
	movew (R6)(R14), F22; \
	movew (R7)(R14), F23; \
	fmla(20, 16, 0); \
	fmla(21, 16, 1); \
	fmla(22, 16, 2); \
	fmla(23, 16, 3); \
	ADD   R8, R14; \
	B     loop; \
store: \
	move F0, (R0); \
	move F1, (R1); \
	move F2, (R2); \
	move F3, (R3); \
	NEXT(bytes)

// PAIR computes the columns of two vectors.
#define PAIR(movew, fmla, sums, loop, store) \
	BEGIN; \
	ZERO(V0); ZERO(V1); ZERO(V2); ZERO(V3); \
	ZERO(V4); ZERO(V5); ZERO(V6); ZERO(V7); \
	CBZ   R20, sums; \
	FLDPQ (R0), (F0, F1); \
	FLDPQ (R1), (F2, F3); \
	FLDPQ (R2), (F4, F5); \
	FLDPQ (R3), (F6, F7); \
sums: \
loop: \
	CBZ   R16, store; \
	SUB   $1, R16; \
	FLDPQ (R15), (F16, F17); \
	ADD   R13, R15; \
	movew (R4)(R14), F20; \
	movew (R5)(R14), F21; \
	movew (R6)(R14), F22; \
	movew (R7)(R14), F23; \
	fmla(20, 16, 0); \
	fmla(20, 17, 1); \
	fmla(21, 16, 2); \
	fmla(21, 17, 3); \
	fmla(22, 16, 4); \
	fmla(22, 17, 5); \
	fmla(23, 16, 6); \
	fmla(23, 17, 7); \
	ADD   R8, R14; \
	B     loop; \
store: \
	FSTPQ (F0, F1), (R0); \
	FSTPQ (F2, F3), (R1); \
	FSTPQ (F4, F5), (R2); \
	FSTPQ (F6, F7), (R3); \
	NEXT(32)

// func panelRest_4_neon(c *float64, ldc int, w *float64, wi, wj int, z *float64, ldz, m, n, cols int, add bool)
TEXT ·panelRest_4_neon(SB), NOSPLIT, $0-81
	MOVD  c+0(FP), R0
	MOVD  ldc+8(FP), R17
	MOVD  w+16(FP), R4
	MOVD  wi+24(FP), R19
	MOVD  wj+32(FP), R8
	MOVD  z+40(FP), R12
	MOVD  ldz+48(FP), R13
	MOVD  m+56(FP), R9
	MOVD  n+64(FP), R10
	MOVD  cols+72(FP), R11
	MOVBU add+80(FP), R20
	REST(3)

	TBZ $2, R11, two
	PAIR(FMOVD, FMLAE, sums4, loop4, store4)

two:
	TBZ $1, R11, one
	PART(16, FMOVQ, FMOVD, FMLAE, sums2, loop2, store2)

one:
	TBZ $0, R11, done
	PART(8, FMOVD, FMOVD, FMLAE, sums1, loop1, store1)

done:
	RET

// func panel32Rest_4_neon(c *float32, ldc int, w *float32, wi, wj int, z *float32, ldz, m, n, cols int, add bool)
TEXT ·panel32Rest_4_neon(SB), NOSPLIT, $0-81
	MOVD  c+0(FP), R0
	MOVD  ldc+8(FP), R17
	MOVD  w+16(FP), R4
	MOVD  wi+24(FP), R19
	MOVD  wj+32(FP), R8
	MOVD  z+40(FP), R12
	MOVD  ldz+48(FP), R13
	MOVD  m+56(FP), R9
	MOVD  n+64(FP), R10
	MOVD  cols+72(FP), R11
	MOVBU add+80(FP), R20
	REST(2)

	TBZ $3, R11, four
	PAIR(FMOVS, FMLAE4, sums8, loop8, store8)

four:
	TBZ $2, R11, two
	PART(16, FMOVQ, FMOVS, FMLAE4, sums4, loop4, store4)

two:
	TBZ $1, R11, one
	PART(8, FMOVD, FMOVS, FMLAE4, sums2, loop2, store2)

one:
	TBZ $0, R11, done
	PART(4, FMOVS, FMOVS, FMLAE4, sums1, loop1, store1)

done:
	RET
