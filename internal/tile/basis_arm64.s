//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of 4 samples, and of 1, times up to 5 columns of a basis. R0 to R3 walk
// along the samples and R4 to R8 along the columns, 8 entries a step. In the tile
// of 4 samples the lanes of V(4j+i) add up to the entry of sample i and column j,
// in the tile of 1 sample those of V(2j) and V(2j+1).

// COLUMNS sets up R5 to R8, and R9 for the last of the columns of a.
#define COLUMNS \
	ADD  R15<<3, R4, R5; \
	ADD  R15<<3, R5, R6; \
	ADD  R15<<3, R6, R7; \
	ADD  R15<<3, R7, R8; \
	LSL  $3, R10, R10; \
	SUB  $1, R16, R17; \
	MADD R10, R9, R17, R9

// ROWS sets up R1 to R3; shift is log2 of the size of an entry of x.
#define ROWS(shift) \
	ADD R14<<shift, R0, R1; \
	ADD R14<<shift, R1, R2; \
	ADD R14<<shift, R2, R3

#define CLEAR \
	ZERO(V0);  ZERO(V1);  ZERO(V2);  ZERO(V3); \
	ZERO(V4);  ZERO(V5);  ZERO(V6);  ZERO(V7); \
	ZERO(V8);  ZERO(V9);  ZERO(V10); ZERO(V11); \
	ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); \
	ZERO(V16); ZERO(V17); ZERO(V18); ZERO(V19)

// ENTRIES reads 4 entries of 4 samples.
#define ENTRIES(load, offset) \
	load offset(R0), (F20, F21); \
	load offset(R1), (F22, F23); \
	load offset(R2), (F24, F25); \
	load offset(R3), (F26, F27)

// CONVERT reads 16 bytes of 4 samples, and makes two vectors of numbers of the lower and of
// the upper half of them.
#define CONVERT(load, offset) \
	load offset(R0), F21; \
	load offset(R1), F23; \
	load offset(R2), F25; \
	load offset(R3), F27; \
	FCVTL(21, 20); FCVTL2(21, 21); \
	FCVTL(23, 22); FCVTL2(23, 23); \
	FCVTL(25, 24); FCVTL2(25, 25); \
	FCVTL(27, 26); FCVTL2(27, 27)

// COLUMN multiplies the entries read last by those of one column.
#define COLUMN(load, offset, u, s0, s1, s2, s3) \
	load  offset(u), (F28, F29); \
	VFMLA V20.D2, V28.D2, s0.D2; \
	VFMLA V22.D2, V28.D2, s1.D2; \
	VFMLA V24.D2, V28.D2, s2.D2; \
	VFMLA V26.D2, V28.D2, s3.D2; \
	VFMLA V21.D2, V29.D2, s0.D2; \
	VFMLA V23.D2, V29.D2, s1.D2; \
	VFMLA V25.D2, V29.D2, s2.D2; \
	VFMLA V27.D2, V29.D2, s3.D2

#define TIMES1(load, offset) COLUMN(load, offset, R4, V0, V1, V2, V3)
#define TIMES2(load, offset) TIMES1(load, offset); COLUMN(load, offset, R5, V4, V5, V6, V7)
#define TIMES3(load, offset) TIMES2(load, offset); COLUMN(load, offset, R6, V8, V9, V10, V11)
#define TIMES4(load, offset) TIMES3(load, offset); COLUMN(load, offset, R7, V12, V13, V14, V15)
#define TIMES5(load, offset) TIMES4(load, offset); COLUMN(load, offset, R8, V16, V17, V18, V19)

// STEP multiplies 8 entries of 4 samples; times is one of TIMES1 to TIMES5. It
// asks for half as many bytes of the next samples.
#define STEP(times) \
	PRFM (R12), PLDL2KEEP; \
	PRFM 64(R12), PLDL2KEEP; \
	ADD  R13, R12; \
	ENTRIES(FLDPQ.P, 64); \
	times(FLDPQ.P, 64); \
	ENTRIES(FLDPQ, -32); \
	times(FLDPQ, -32)

#define STEP32(times) \
	PRFM (R12), PLDL2KEEP; \
	ADD  R13, R12; \
	CONVERT(FMOVQ.P, 32); \
	times(FLDPQ.P, 64); \
	CONVERT(FMOVQ, -16); \
	times(FLDPQ, -32)

// STORE adds the lanes of the sums of a column, from V(s0) on, and stores them.
#define STORE(s0, s1, s2, s3, f0, f1) \
	FADDP2(s1, s0, s0); \
	FADDP2(s3, s2, s1); \
	FSTPQ (f0, f1), (R9); \
	SUB   R10, R9

// TILE4 runs R11 steps over R16 columns.
#define TILE4(step) \
	CMP $2, R16; \
	BLT c1; \
	BEQ c2; \
	CMP $4, R16; \
	BLT c3; \
	BEQ c4; \
c5: \
	CBZ R11, s5; \
	step(TIMES5); \
	SUB $1, R11; \
	B   c5; \
c4: \
	CBZ R11, s4; \
	step(TIMES4); \
	SUB $1, R11; \
	B   c4; \
c3: \
	CBZ R11, s3; \
	step(TIMES3); \
	SUB $1, R11; \
	B   c3; \
c2: \
	CBZ R11, s2; \
	step(TIMES2); \
	SUB $1, R11; \
	B   c2; \
c1: \
	CBZ R11, s1; \
	step(TIMES1); \
	SUB $1, R11; \
	B   c1; \
s5: \
	STORE(16, 17, 18, 19, F16, F17); \
s4: \
	STORE(12, 13, 14, 15, F12, F13); \
s3: \
	STORE(8, 9, 10, 11, F8, F9); \
s2: \
	STORE(4, 5, 6, 7, F4, F5); \
s1: \
	STORE(0, 1, 2, 3, F0, F1)

// func mulBasis_4x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·mulBasis_4x5_neon(SB), NOSPLIT, $0-80
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD ldx+24(FP), R14
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD steps+56(FP), R11
	MOVD next+64(FP), R12
	MOVD ahead+72(FP), R13
	ROWS(3)
	COLUMNS
	CLEAR
	TILE4(STEP)
	RET

// func mulBasis32_4x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·mulBasis32_4x5_neon(SB), NOSPLIT, $0-80
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD ldx+24(FP), R14
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD steps+56(FP), R11
	MOVD next+64(FP), R12
	MOVD ahead+72(FP), R13
	ROWS(2)
	COLUMNS
	CLEAR
	TILE4(STEP32)
	RET

// COLUMN8 multiplies the entries in V20 to V23 by those of one column.
#define COLUMN8(u, s0, s1) \
	FLDPQ.P 64(u), (F24, F25); \
	FLDPQ   -32(u), (F26, F27); \
	VFMLA   V20.D2, V24.D2, s0.D2; \
	VFMLA   V21.D2, V25.D2, s1.D2; \
	VFMLA   V22.D2, V26.D2, s0.D2; \
	VFMLA   V23.D2, V27.D2, s1.D2

#define ENTRIES8 \
	PRFM    (R12), PLDL2KEEP; \
	ADD     R13, R12; \
	FLDPQ.P 64(R0), (F20, F21); \
	FLDPQ   -32(R0), (F22, F23)

#define ENTRIES8x32 \
	PRFM    (R12), PLDL2KEEP; \
	ADD     R13, R12; \
	FLDPQ.P 32(R0), (F21, F23); \
	FCVTL(21, 20); FCVTL2(21, 21); \
	FCVTL(23, 22); FCVTL2(23, 23)

// STORE1 adds the sums of a column, V(s0) and V(s1), and their lanes.
#define STORE1(s0, s1, f0) \
	FADDP2(s1, s0, s0); \
	FADDP2(s0, s0, s0); \
	FMOVD f0, (R9); \
	SUB   R10, R9

// TILE1 runs R11 steps over R16 columns.
#define TILE1(entries) \
loop: \
	CBZ R11, done; \
	SUB $1, R11; \
	entries; \
	COLUMN8(R4, V0, V1); \
	CMP $2, R16; \
	BLT loop; \
	COLUMN8(R5, V2, V3); \
	BEQ loop; \
	COLUMN8(R6, V4, V5); \
	CMP $4, R16; \
	BLT loop; \
	COLUMN8(R7, V6, V7); \
	BEQ loop; \
	COLUMN8(R8, V8, V9); \
	B   loop; \
done: \
	CMP $2, R16; \
	BLT s1; \
	BEQ s2; \
	CMP $4, R16; \
	BLT s3; \
	BEQ s4; \
	STORE1(8, 9, F8); \
s4: \
	STORE1(6, 7, F6); \
s3: \
	STORE1(4, 5, F4); \
s2: \
	STORE1(2, 3, F2); \
s1: \
	STORE1(0, 1, F0)

// func mulBasis_1x5_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·mulBasis_1x5_neon(SB), NOSPLIT, $0-80
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD steps+56(FP), R11
	MOVD next+64(FP), R12
	MOVD ahead+72(FP), R13
	COLUMNS
	CLEAR
	TILE1(ENTRIES8)
	RET

// func mulBasis32_1x5_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·mulBasis32_1x5_neon(SB), NOSPLIT, $0-80
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD steps+56(FP), R11
	MOVD next+64(FP), R12
	MOVD ahead+72(FP), R13
	COLUMNS
	CLEAR
	TILE1(ENTRIES8x32)
	RET
