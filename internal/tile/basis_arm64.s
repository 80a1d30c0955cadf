//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of 2 samples times up to 3 columns of a basis. R0 and R1 walk along the samples and R4 to R6 along the
// columns, 8 entries a step. A sum has 8 partial sums, as on all tiers: those of sample i and column j are in
// V(8j+4i) to V(8j+4i+3).

// SETUP sets up R1, R5 and R6, and the step R10 from a column of a to the next; shift is log2 of the size of an
// entry of x. A sample that does not exist repeats the first one.
#define SETUP(shift) \
	ADD  R14<<shift, R0, R1; \
	CMP  $2, R17; \
	CSEL GE, R1, R0, R1; \
	ADD  R15<<3, R4, R5; \
	ADD  R15<<3, R5, R6; \
	LSL  $3, R10, R10; \
	ZERO(V0);  ZERO(V1);  ZERO(V2);  ZERO(V3); \
	ZERO(V4);  ZERO(V5);  ZERO(V6);  ZERO(V7); \
	ZERO(V8);  ZERO(V9);  ZERO(V10); ZERO(V11); \
	ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); \
	ZERO(V16); ZERO(V17); ZERO(V18); ZERO(V19); \
	ZERO(V20); ZERO(V21); ZERO(V22); ZERO(V23)

// ENTRIES reads 4 entries of both samples.
#define ENTRIES \
	FLDPQ.P 32(R0), (F24, F25); \
	FLDPQ.P 32(R1), (F26, F27)

// ENTRIES32 reads 4 entries that are stored as float32.
#define ENTRIES32 \
	FMOVQ.P 16(R0), F25; \
	FMOVQ.P 16(R1), F27; \
	FCVTL(25, 24); FCVTL2(25, 25); \
	FCVTL(27, 26); FCVTL2(27, 27)

// COLUMN multiplies the entries read last by those of one column.
#define COLUMN(u, s0, s1, t0, t1) \
	FLDPQ.P 32(u), (F28, F29); \
	VFMLA   V24.D2, V28.D2, s0.D2; \
	VFMLA   V26.D2, V28.D2, t0.D2; \
	VFMLA   V25.D2, V29.D2, s1.D2; \
	VFMLA   V27.D2, V29.D2, t1.D2

#define LOW1 COLUMN(R4, V0, V1, V4, V5)
#define LOW2 LOW1; COLUMN(R5, V8, V9, V12, V13)
#define LOW3 LOW2; COLUMN(R6, V16, V17, V20, V21)
#define HIGH1 COLUMN(R4, V2, V3, V6, V7)
#define HIGH2 HIGH1; COLUMN(R5, V10, V11, V14, V15)
#define HIGH3 HIGH2; COLUMN(R6, V18, V19, V22, V23)

// STEP multiplies 8 entries, and asks for a line of the next samples.
#define STEP(entries, low, high) \
	SUB  $1, R11; \
	PRFM (R12), PLDL2KEEP; \
	ADD  R13, R12; \
	entries; \
	low; \
	entries; \
	high

// STORE adds the partial sums of a column, from V(s0) on, and stores the sums of one or two samples.
#define STORE(s0, s1, s2, s3, t0, t1, t2, t3, f0) \
	FADD2(s2, s0, s0); \
	FADD2(s3, s1, s1); \
	FADDP2(s1, s0, s0); \
	FADD2(t2, t0, t0); \
	FADD2(t3, t1, t1); \
	FADDP2(t1, t0, t0); \
	FADDP2(t0, s0, s0); \
	CMP   $2, R17; \
	BLT   3(PC); \
	FMOVQ f0, (R9); \
	B     2(PC); \
	FMOVD f0, (R9); \
	ADD   R10, R9

// TILE runs R11 steps over R16 columns.
#define TILE(entries) \
	CMP $2, R16; \
	BLT c1; \
	BEQ c2; \
c3: \
	CBZ R11, store; \
	STEP(entries, LOW3, HIGH3); \
	B   c3; \
c2: \
	CBZ R11, store; \
	STEP(entries, LOW2, HIGH2); \
	B   c2; \
c1: \
	CBZ R11, store; \
	STEP(entries, LOW1, HIGH1); \
	B   c1; \
store: \
	STORE(0, 1, 2, 3, 4, 5, 6, 7, F0); \
	CMP $2, R16; \
	BLT done; \
	STORE(8, 9, 10, 11, 12, 13, 14, 15, F8); \
	CMP $3, R16; \
	BLT done; \
	STORE(16, 17, 18, 19, 20, 21, 22, 23, F16); \
done:

// func mulBasis_2x3_neon(a *float64, lda int, x *float64, ldx int, u *float64, ldu, columns, rows, steps int, next uintptr, ahead int)
TEXT ·mulBasis_2x3_neon(SB), NOSPLIT, $0-88
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD ldx+24(FP), R14
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD rows+56(FP), R17
	MOVD steps+64(FP), R11
	MOVD next+72(FP), R12
	MOVD ahead+80(FP), R13
	SETUP(3)
	TILE(ENTRIES)
	RET

// func mulBasis32_2x3_neon(a *float64, lda int, x *float32, ldx int, u *float64, ldu, columns, rows, steps int, next uintptr, ahead int)
TEXT ·mulBasis32_2x3_neon(SB), NOSPLIT, $0-88
	MOVD a+0(FP), R9
	MOVD lda+8(FP), R10
	MOVD x+16(FP), R0
	MOVD ldx+24(FP), R14
	MOVD u+32(FP), R4
	MOVD ldu+40(FP), R15
	MOVD columns+48(FP), R16
	MOVD rows+56(FP), R17
	MOVD steps+64(FP), R11
	MOVD next+72(FP), R12
	MOVD ahead+80(FP), R13
	SETUP(2)
	TILE(ENTRIES32)
	RET
