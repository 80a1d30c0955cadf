//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// CLEAR16 clears V0 to V15.
#define CLEAR16 \
	ZERO(V0);  ZERO(V1);  ZERO(V2);  ZERO(V3); \
	ZERO(V4);  ZERO(V5);  ZERO(V6);  ZERO(V7); \
	ZERO(V8);  ZERO(V9);  ZERO(V10); ZERO(V11); \
	ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15)

// LINE reads 8 entries and adds them to four sums.
#define LINE(x, s0, s1, s2, s3) \
	FLDPQ.P 64(x), (F16, F17); \
	FLDPQ   -32(x), (F18, F19); \
	FADD2(16, s0, s0); \
	FADD2(17, s1, s1); \
	FADD2(18, s2, s2); \
	FADD2(19, s3, s3)

// TOTAL adds up V0 to V15.
#define TOTAL \
	FADD2(1, 0, 0);   FADD2(3, 2, 2);   FADD2(5, 4, 4);    FADD2(7, 6, 6); \
	FADD2(9, 8, 8);   FADD2(11, 10, 10); FADD2(13, 12, 12); FADD2(15, 14, 14); \
	FADD2(2, 0, 0);   FADD2(6, 4, 4);   FADD2(10, 8, 8);   FADD2(14, 12, 12); \
	FADD2(4, 0, 0);   FADD2(12, 8, 8); \
	FADD2(8, 0, 0); \
	FADDP2(0, 0, 0)

// func readSum_1_neon(x *float64, n int) float64
TEXT ·readSum_1_neon(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	LSR  $5, R1
	CLEAR16

loop:
	CBZ R1, done
	SUB $1, R1
	LINE(R0, 0, 1, 2, 3)
	LINE(R0, 4, 5, 6, 7)
	LINE(R0, 8, 9, 10, 11)
	LINE(R0, 12, 13, 14, 15)
	B   loop

done:
	TOTAL
	FMOVD F0, ret+16(FP)
	RET

// func readSum_4_neon(x *float64, n int) float64
TEXT ·readSum_4_neon(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R1<<1, R0, R2 // a quarter of n entries of 8 bytes
	ADD  R1<<1, R2, R3
	ADD  R1<<1, R3, R4
	LSR  $5, R1
	CLEAR16

loop:
	CBZ R1, done
	SUB $1, R1
	LINE(R0, 0, 1, 2, 3)
	LINE(R2, 4, 5, 6, 7)
	LINE(R3, 8, 9, 10, 11)
	LINE(R4, 12, 13, 14, 15)
	B   loop

done:
	TOTAL
	FMOVD F0, ret+16(FP)
	RET

// func fmaPeak_neon(rounds int)
TEXT ·fmaPeak_neon(SB), NOSPLIT, $0-8
	MOVD rounds+0(FP), R0
	CLEAR16
	ZERO(V16)

loop:
	CBZ   R0, done
	SUB   $1, R0
	VFMLA V16.D2, V16.D2, V0.D2
	VFMLA V16.D2, V16.D2, V1.D2
	VFMLA V16.D2, V16.D2, V2.D2
	VFMLA V16.D2, V16.D2, V3.D2
	VFMLA V16.D2, V16.D2, V4.D2
	VFMLA V16.D2, V16.D2, V5.D2
	VFMLA V16.D2, V16.D2, V6.D2
	VFMLA V16.D2, V16.D2, V7.D2
	VFMLA V16.D2, V16.D2, V8.D2
	VFMLA V16.D2, V16.D2, V9.D2
	VFMLA V16.D2, V16.D2, V10.D2
	VFMLA V16.D2, V16.D2, V11.D2
	VFMLA V16.D2, V16.D2, V12.D2
	VFMLA V16.D2, V16.D2, V13.D2
	VFMLA V16.D2, V16.D2, V14.D2
	VFMLA V16.D2, V16.D2, V15.D2
	B     loop

done:
	RET
