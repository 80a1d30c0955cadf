//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// FEATURES multiplies two features of four lanes, from an offset on, by the entries of e in V30 and V31.
#define FEATURES(offset, s0, s1, s2, s3) \
	FLDPQ offset(R1), (F16, F17); \
	FLDPQ (offset+32)(R1), (F18, F19); \
	VFMLA V16.D2, V30.D2, s0.D2; \
	VFMLA V17.D2, V31.D2, s1.D2; \
	VFMLA V18.D2, V30.D2, s2.D2; \
	VFMLA V19.D2, V31.D2, s3.D2

// func mulTransposedLanes_neon(sums, x *float64, ldx int, e *float64, lde, n int)
TEXT ·mulTransposedLanes_neon(SB), NOSPLIT, $0-48
	MOVD sums+0(FP), R0
	MOVD x+8(FP), R1
	MOVD ldx+16(FP), R2
	MOVD e+24(FP), R3
	MOVD lde+32(FP), R4
	MOVD n+40(FP), R5
	LSL  $3, R2
	LSL  $3, R4
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
	CBZ   R5, done
	SUB   $1, R5
	FLDPQ (R3), (F30, F31)
	FEATURES(0, V0, V1, V2, V3)
	FEATURES(64, V4, V5, V6, V7)
	FEATURES(128, V8, V9, V10, V11)
	FEATURES(192, V12, V13, V14, V15)
	SUB   R2, R1
	SUB   R4, R3
	B     row

done:
	FSTPQ.P (F0, F1), 32(R0)
	FSTPQ.P (F2, F3), 32(R0)
	FSTPQ.P (F4, F5), 32(R0)
	FSTPQ.P (F6, F7), 32(R0)
	FSTPQ.P (F8, F9), 32(R0)
	FSTPQ.P (F10, F11), 32(R0)
	FSTPQ.P (F12, F13), 32(R0)
	FSTPQ.P (F14, F15), 32(R0)
	RET
