//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of 4 samples x up to 5 columns of a basis, and of 1 sample for what is
// left over. R0 to R3 walk along the samples and R4 to R8 along the columns. In the
// 4-row tile the sum of sample i and column j is in the two lanes of V(4j+i).

// TILE4 sets up the pointers and clears the sums; shift is log2 of the size of
// an entry of x.
#define TILE4(shift) \
	ADD  R14<<shift, R0, R1; \
	ADD  R14<<shift, R1, R2; \
	ADD  R14<<shift, R2, R3; \
	ZERO(V0);  ZERO(V1);  ZERO(V2);  ZERO(V3); \
	ZERO(V4);  ZERO(V5);  ZERO(V6);  ZERO(V7); \
	ZERO(V8);  ZERO(V9);  ZERO(V10); ZERO(V11); \
	ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); \
	ZERO(V16); ZERO(V17); ZERO(V18); ZERO(V19)

// COLUMNS sets up the pointers to columns of u and to the last of c columns of a.
#define COLUMNS \
	ADD  R15<<3, R4, R5; \
	ADD  R15<<3, R5, R6; \
	ADD  R15<<3, R6, R7; \
	ADD  R15<<3, R7, R8; \
	LSL  $3, R10, R10; \
	SUB  $1, R16, R17; \
	MADD R10, R9, R17, R9

// AHEAD4 asks for half as many of the next samples as a step of 8 entries reads.
#define AHEAD4 \
	PRFM (R12), PLDL2KEEP; \
	PRFM 64(R12), PLDL2KEEP; \
	ADD  R13, R12

#define AHEAD1 \
	PRFM (R12), PLDL2KEEP; \
	ADD  R13, R12

// ROWS reads 4 entries of 4 samples.
#define ROWS(load, offset) \
	load offset(R0), (F20, F21); \
	load offset(R1), (F22, F23); \
	load offset(R2), (F24, F25); \
	load offset(R3), (F26, F27)

// ROWS32 reads 4 entries of 4 samples stored as float32.
#define ROWS32(load, offset) \
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

#define COLUMN0(load, offset) COLUMN(load, offset, R4, V0, V1, V2, V3)
#define COLUMN1(load, offset) COLUMN(load, offset, R5, V4, V5, V6, V7)
#define COLUMN2(load, offset) COLUMN(load, offset, R6, V8, V9, V10, V11)
#define COLUMN3(load, offset) COLUMN(load, offset, R7, V12, V13, V14, V15)
#define COLUMN4(load, offset) COLUMN(load, offset, R8, V16, V17, V18, V19)

// Steps of 4 entries along 1 to 5 columns.
#define COLS1(load, offset) COLUMN0(load, offset)
#define COLS2(load, offset) COLS1(load, offset); COLUMN1(load, offset)
#define COLS3(load, offset) COLS2(load, offset); COLUMN2(load, offset)
#define COLS4(load, offset) COLS3(load, offset); COLUMN3(load, offset)
#define COLS5(load, offset) COLS4(load, offset); COLUMN4(load, offset)

// A step reads 8 entries; the first load of each pointer moves it.
#define LOADS(cols) \
	AHEAD4; \
	ROWS(FLDPQ.P, 64); \
	cols(FLDPQ.P, 64); \
	ROWS(FLDPQ, -32); \
	cols(FLDPQ, -32)

#define LOADS32(cols) \
	AHEAD4; \
	ROWS32(FMOVQ.P, 32); \
	cols(FLDPQ.P, 64); \
	ROWS32(FMOVQ, -16); \
	cols(FLDPQ, -32)

// STORE4 adds the lanes of the sums s0 to s3 and stores them in a column of a.
#define STORE4(s0, s1, s2, s3) \
	FADDP2(s1, s0, s0); \
	FADDP2(s3, s2, s2); \
	FSTPQ (F##s0, F##s2), (R9); \
	SUB   R10, R9
