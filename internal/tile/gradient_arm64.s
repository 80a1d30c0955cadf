//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Tiles of X' e: the sums of up to 32 columns of the samples stay in V0 to V15, while R1 walks down the samples
// and R3 along e.

// TIMESE multiplies 8 entries of a sample by the entry of e in V31.
#define TIMESE(s0, s1, s2, s3) \
	FLDPQ.P 64(R1), (F16, F17); \
	FLDPQ   -32(R1), (F18, F19); \
	FMLAE(31, 16, s0); \
	FMLAE(31, 17, s1); \
	FMLAE(31, 18, s2); \
	FMLAE(31, 19, s3)

// TIMESE32 takes 8 entries stored as float32.
#define TIMESE32(s0, s1, s2, s3) \
	FLDPQ.P 32(R1), (F17, F19); \
	FCVTL(17, 16); FCVTL2(17, 17); \
	FCVTL(19, 18); FCVTL2(19, 19); \
	FMLAE(31, 16, s0); \
	FMLAE(31, 17, s1); \
	FMLAE(31, 18, s2); \
	FMLAE(31, 19, s3)

#define WIDE8(mul) mul(0, 1, 2, 3)
#define WIDE16(mul) WIDE8(mul); mul(4, 5, 6, 7)
#define WIDE24(mul) WIDE16(mul); mul(8, 9, 10, 11)
#define WIDE32(mul) WIDE24(mul); mul(12, 13, 14, 15)

// ROWE multiplies one sample by its entry of e, and asks for half as many bytes
// of the next samples.
#define ROWE(wide, mul) \
	SUB     $1, R4; \
	FMOVD   (R3), F31; \
	ADD     R8, R3; \
	PRFM    (R6), PLDL2KEEP; \
	PRFM    64(R6), PLDL2KEEP; \
	ADD     R7, R6; \
	wide(mul); \
	ADD     R2, R1

// STOREV stores a block of v and goes on to the one before it.
#define STOREV(f0, f1, f2, f3) \
	FSTPQ (f0, f1), (R0); \
	FSTPQ (f2, f3), 32(R0); \
	SUB   $64, R0

// LOADV loads a block of v.
#define LOADV(offset, f0, f1, f2, f3) \
	FLDPQ offset(R0), (f0, f1); \
	FLDPQ (offset+32)(R0), (f2, f3)

// SUMROWS runs over R4 samples with R5 blocks of 64 bytes of v, to which it adds if R9 is not 0. R8 is the step from
// an entry of e to the next, in bytes.
#define SUMROWS(mul) \
	LSL $3, R8; \
	ZERO(V0);  ZERO(V1);  ZERO(V2);  ZERO(V3); \
	ZERO(V4);  ZERO(V5);  ZERO(V6);  ZERO(V7); \
	ZERO(V8);  ZERO(V9);  ZERO(V10); ZERO(V11); \
	ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); \
	CBZ R9, start; \
	LOADV(0, F0, F1, F2, F3); \
	CMP $2, R5; \
	BLT start; \
	LOADV(64, F4, F5, F6, F7); \
	BEQ start; \
	LOADV(128, F8, F9, F10, F11); \
	CMP $4, R5; \
	BLT start; \
	LOADV(192, F12, F13, F14, F15); \
start: \
	ADD R5<<6, R0; \
	SUB $64, R0; \
	CMP $2, R5; \
	BLT w8; \
	BEQ w16; \
	CMP $4, R5; \
	BLT w24; \
w32: \
	CBZ R4, s32; \
	ROWE(WIDE32, mul); \
	B   w32; \
w24: \
	CBZ R4, s24; \
	ROWE(WIDE24, mul); \
	B   w24; \
w16: \
	CBZ R4, s16; \
	ROWE(WIDE16, mul); \
	B   w16; \
w8: \
	CBZ R4, s8; \
	ROWE(WIDE8, mul); \
	B   w8; \
s32: \
	STOREV(F12, F13, F14, F15); \
s24: \
	STOREV(F8, F9, F10, F11); \
s16: \
	STOREV(F4, F5, F6, F7); \
s8: \
	STOREV(F0, F1, F2, F3)

// func mulTransposed_neon(v, x *float64, ldx int, e *float64, step, n, blocks int, add bool, next uintptr, ahead int)
TEXT ·mulTransposed_neon(SB), NOSPLIT, $0-80
	MOVD  v+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  ldx+16(FP), R2
	MOVD  e+24(FP), R3
	MOVD  step+32(FP), R8
	MOVD  n+40(FP), R4
	MOVD  blocks+48(FP), R5
	MOVBU add+56(FP), R9
	MOVD  next+64(FP), R6
	MOVD  ahead+72(FP), R7
	LSL  $3, R2
	SUB  R5<<6, R2 // a row moves R1 by 8 blocks of float64
	SUMROWS(TIMESE)
	RET

// func mulTransposed32_neon(v *float64, x *float32, ldx int, e *float64, step, n, blocks int, add bool, next uintptr, ahead int)
TEXT ·mulTransposed32_neon(SB), NOSPLIT, $0-80
	MOVD  v+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  ldx+16(FP), R2
	MOVD  e+24(FP), R3
	MOVD  step+32(FP), R8
	MOVD  n+40(FP), R4
	MOVD  blocks+48(FP), R5
	MOVBU add+56(FP), R9
	MOVD  next+64(FP), R6
	MOVD  ahead+72(FP), R7
	LSL  $2, R2
	SUB  R5<<5, R2 // a row moves R1 by 8 blocks of float32
	SUMROWS(TIMESE32)
	RET
