//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of 4 samples, and of 1, times up to 5 columns of a basis. R0 to R3 walk
// along the samples and R4 to R8 along the columns, 8 entries a step. In the tile
// of 4 samples the lanes of V(4j+i) add up to the entry of sample i and column j,
// in the tile of 1 sample those of V(2j) and V(2j+1).

// COLUMNS sets up R5 to R8, and R9 for the last of the columns of a; shift is log2 of the
// size of an entry of u.
#define COLUMNS(shift) \
	ADD  R15<<shift, R4, R5; \
	ADD  R15<<shift, R5, R6; \
	ADD  R15<<shift, R6, R7; \
	ADD  R15<<shift, R7, R8; \
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
#define CONVERT(load, offset, lower, upper) \
	load offset(R0), F21; \
	load offset(R1), F23; \
	load offset(R2), F25; \
	load offset(R3), F27; \
	lower(21, 20); upper(21, 21); \
	lower(23, 22); upper(23, 23); \
	lower(25, 24); upper(25, 25); \
	lower(27, 26); upper(27, 27)

// COLUMN multiplies the entries read last by those of one column, in numbers of type t.
#define COLUMN(t, load, offset, u, s0, s1, s2, s3) \
	load  offset(u), (F28, F29); \
	VFMLA V20.t, V28.t, s0.t; \
	VFMLA V22.t, V28.t, s1.t; \
	VFMLA V24.t, V28.t, s2.t; \
	VFMLA V26.t, V28.t, s3.t; \
	VFMLA V21.t, V29.t, s0.t; \
	VFMLA V23.t, V29.t, s1.t; \
	VFMLA V25.t, V29.t, s2.t; \
	VFMLA V27.t, V29.t, s3.t

#define TIMES1(t, load, offset) COLUMN(t, load, offset, R4, V0, V1, V2, V3)
#define TIMES2(t, load, offset) TIMES1(t, load, offset); COLUMN(t, load, offset, R5, V4, V5, V6, V7)
#define TIMES3(t, load, offset) TIMES2(t, load, offset); COLUMN(t, load, offset, R6, V8, V9, V10, V11)
#define TIMES4(t, load, offset) TIMES3(t, load, offset); COLUMN(t, load, offset, R7, V12, V13, V14, V15)
#define TIMES5(t, load, offset) TIMES4(t, load, offset); COLUMN(t, load, offset, R8, V16, V17, V18, V19)

// STEP multiplies 8 entries of 4 samples; times is one of TIMES1 to TIMES5. It
// asks for half as many bytes of the next samples.
#define STEP(times) \
	PRFM (R12), PLDL2KEEP; \
	PRFM 64(R12), PLDL2KEEP; \
	ADD  R13, R12; \
	ENTRIES(FLDPQ.P, 64); \
	times(D2, FLDPQ.P, 64); \
	ENTRIES(FLDPQ, -32); \
	times(D2, FLDPQ, -32)

#define STEP32(times) \
	PRFM (R12), PLDL2KEEP; \
	ADD  R13, R12; \
	CONVERT(FMOVQ.P, 32, FCVTL, FCVTL2); \
	times(D2, FLDPQ.P, 64); \
	CONVERT(FMOVQ, -16, FCVTL, FCVTL2); \
	times(D2, FLDPQ, -32)

// STEPHALF multiplies 16 entries of 16 bits in float32.
#define STEPHALF(times) \
	PRFM (R12), PLDL2KEEP; \
	ADD  R13, R12; \
	CONVERT(FMOVQ.P, 32, FCVTLH, FCVTL2H); \
	times(S4, FLDPQ.P, 64); \
	CONVERT(FMOVQ, -16, FCVTLH, FCVTL2H); \
	times(S4, FLDPQ, -32)

// STORE adds the lanes of the sums of a column, from V(s0) on, and stores them.
#define STORE(s0, s1, s2, s3, f0, f1) \
	FADDP2(s1, s0, s0); \
	FADDP2(s3, s2, s1); \
	FSTPQ (f0, f1), (R9); \
	SUB   R10, R9

// ADDTO adds the lanes of four float32 each to what is there.
#define ADDTO(s0, s1, s2, s3, f0, f1) \
	FADDP4(s1, s0, s0); \
	FADDP4(s3, s2, s2); \
	FADDP4(s2, s0, s0); \
	FCVTL2(s0, s1); \
	FCVTL(s0, s0); \
	FLDPQ (R9), (F28, F29); \
	FADD2(28, s0, s0); \
	FADD2(29, s1, s1); \
	FSTPQ (f0, f1), (R9); \
	SUB   R10, R9

// TILE4 runs R11 steps over R16 columns.
#define TILE4(step, store) \
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
	store(16, 17, 18, 19, F16, F17); \
s4: \
	store(12, 13, 14, 15, F12, F13); \
s3: \
	store(8, 9, 10, 11, F8, F9); \
s2: \
	store(4, 5, 6, 7, F4, F5); \
s1: \
	store(0, 1, 2, 3, F0, F1)

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
	COLUMNS(3)
	CLEAR
	TILE4(STEP, STORE)
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
	COLUMNS(3)
	CLEAR
	TILE4(STEP32, STORE)
	RET

// func addBasisHalf_4x5_neon(a *float64, lda int, x *uint16, ldx int, u *float32, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·addBasisHalf_4x5_neon(SB), NOSPLIT, $0-80
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
	ROWS(1)
	COLUMNS(2)
	CLEAR
	TILE4(STEPHALF, ADDTO)
	RET

// COLUMN8 multiplies the entries in V20 to V23, 8 of float64 or 16 of float32, by those of
// one column.
#define COLUMN8(t, u, s0, s1) \
	FLDPQ.P 64(u), (F24, F25); \
	FLDPQ   -32(u), (F26, F27); \
	VFMLA   V20.t, V24.t, s0.t; \
	VFMLA   V21.t, V25.t, s1.t; \
	VFMLA   V22.t, V26.t, s0.t; \
	VFMLA   V23.t, V27.t, s1.t

#define ENTRIES8 \
	PRFM    (R12), PLDL2KEEP; \
	ADD     R13, R12; \
	FLDPQ.P 64(R0), (F20, F21); \
	FLDPQ   -32(R0), (F22, F23)

#define CONVERT8(lower, upper) \
	PRFM    (R12), PLDL2KEEP; \
	ADD     R13, R12; \
	FLDPQ.P 32(R0), (F21, F23); \
	lower(21, 20); upper(21, 21); \
	lower(23, 22); upper(23, 23)

#define ENTRIES8x32 CONVERT8(FCVTL, FCVTL2)
#define ENTRIES16 CONVERT8(FCVTLH, FCVTL2H)

// STORE1 adds the sums of a column, V(s0) and V(s1), and their lanes.
#define STORE1(s0, s1, f0) \
	FADDP2(s1, s0, s0); \
	FADDP2(s0, s0, s0); \
	FMOVD f0, (R9); \
	SUB   R10, R9

// ADDTO1 does so for float32, and adds what is there.
#define ADDTO1(s0, s1, f0) \
	FADDP4(s1, s0, s0); \
	FADDP4(s0, s0, s0); \
	FADDP4(s0, s0, s0); \
	FCVTL(s0, s0); \
	FMOVD (R9), F28; \
	FADDD F28, f0; \
	FMOVD f0, (R9); \
	SUB   R10, R9

// TILE1 runs R11 steps over R16 columns.
#define TILE1(entries, t, store) \
loop: \
	CBZ R11, done; \
	SUB $1, R11; \
	entries; \
	COLUMN8(t, R4, V0, V1); \
	CMP $2, R16; \
	BLT loop; \
	COLUMN8(t, R5, V2, V3); \
	BEQ loop; \
	COLUMN8(t, R6, V4, V5); \
	CMP $4, R16; \
	BLT loop; \
	COLUMN8(t, R7, V6, V7); \
	BEQ loop; \
	COLUMN8(t, R8, V8, V9); \
	B   loop; \
done: \
	CMP $2, R16; \
	BLT s1; \
	BEQ s2; \
	CMP $4, R16; \
	BLT s3; \
	BEQ s4; \
	store(8, 9, F8); \
s4: \
	store(6, 7, F6); \
s3: \
	store(4, 5, F4); \
s2: \
	store(2, 3, F2); \
s1: \
	store(0, 1, F0)

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
	COLUMNS(3)
	CLEAR
	TILE1(ENTRIES8, D2, STORE1)
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
	COLUMNS(3)
	CLEAR
	TILE1(ENTRIES8x32, D2, STORE1)
	RET

// func addBasisHalf_1x5_neon(a *float64, lda int, x *uint16, ldx int, u *float32, ldu, columns, steps int, next uintptr, ahead int)
TEXT ·addBasisHalf_1x5_neon(SB), NOSPLIT, $0-80
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD steps+56(FP), R11
	MOVD next+64(FP), R12
	MOVD ahead+72(FP), R13
	COLUMNS(2)
	CLEAR
	TILE1(ENTRIES16, S4, ADDTO1)
	RET
