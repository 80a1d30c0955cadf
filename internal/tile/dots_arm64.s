//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// Inner products of rows and a vector, in the order of sums of all tiers: products of several rows have 8 partial
// sums a row, a single row has 32 of them, in 4 groups. The first group begins with the products of the last
// entries, which fill no group; see rowDotsTile.

// STARTS loads the partial sums of four rows.
#define STARTS(s0, s1, s2, s3, s4, s5, s6, s7) \
	FLDPQ.P 32(R1), (s0, s1); \
	FLDPQ.P 32(R1), (s2, s3); \
	FLDPQ.P 32(R1), (s4, s5); \
	FLDPQ.P 32(R1), (s6, s7)

// FOURROWS sets up R5 to R7 as rows 1 to 3 of the c = R9 rows from R4 on; rows that do not exist repeat the last
// row. shift is log2 of the size of an entry.
#define FOURROWS(shift) \
	ADD  R2<<shift, R4, R5; \
	CMP  $2, R9; \
	CSEL GE, R5, R4, R5; \
	ADD  R2<<shift, R5, R6; \
	CMP  $3, R9; \
	CSEL GE, R6, R5, R6; \
	ADD  R2<<shift, R6, R7; \
	CMP  $4, R9; \
	CSEL GE, R7, R6, R7

// EIGHT multiplies 8 entries of a row by those of x in V16 to V19.
#define EIGHT(a, s0, s1, s2, s3) \
	FLDPQ.P 64(a), (F20, F21); \
	FLDPQ   -32(a), (F22, F23); \
	VFMLA   V20.D2, V16.D2, s0.D2; \
	VFMLA   V21.D2, V17.D2, s1.D2; \
	VFMLA   V22.D2, V18.D2, s2.D2; \
	VFMLA   V23.D2, V19.D2, s3.D2

// TOTAL adds the 8 partial sums in V(s0) to V(s3): ((0+4)+(1+5)) and (2+6)+(3+7) are in V(s0).
#define TOTAL(s0, s1, s2, s3) \
	FADD2(s2, s0, s0); \
	FADD2(s3, s1, s1); \
	FADDP2(s1, s0, s0)

// FOURDOTS adds the products of R8 blocks of 8 entries of four rows.
#define FOURDOTS \
loop: \
	CBZ     R8, done; \
	SUB     $1, R8; \
	FLDPQ.P 64(R3), (F16, F17); \
	FLDPQ   -32(R3), (F18, F19); \
	EIGHT(R4, V0, V1, V2, V3); \
	EIGHT(R5, V4, V5, V6, V7); \
	EIGHT(R6, V8, V9, V10, V11); \
	EIGHT(R7, V12, V13, V14, V15); \
	B       loop; \
done:

// func rowDots_4_neon(sums, start, a *float64, lda, c int, x *float64, blocks int)
TEXT ·rowDots_4_neon(SB), NOSPLIT, $0-56
	MOVD sums+0(FP), R0
	MOVD start+8(FP), R1
	MOVD a+16(FP), R4
	MOVD lda+24(FP), R2
	MOVD c+32(FP), R9
	MOVD x+40(FP), R3
	MOVD blocks+48(FP), R8
	FOURROWS(3)
	STARTS(F0, F1, F2, F3, F4, F5, F6, F7)
	STARTS(F8, F9, F10, F11, F12, F13, F14, F15)
	FOURDOTS
	TOTAL(0, 1, 2, 3)
	TOTAL(4, 5, 6, 7)
	TOTAL(8, 9, 10, 11)
	TOTAL(12, 13, 14, 15)
	FADDP2(4, 0, 0)
	FADDP2(12, 8, 1)
	FSTPQ (F0, F1), (R0)
	RET

// func addDots_4_neon(sums, a *float64, lda int, x *float64, blocks int)
TEXT ·addDots_4_neon(SB), NOSPLIT, $0-40
	MOVD sums+0(FP), R0
	MOVD a+8(FP), R4
	MOVD lda+16(FP), R2
	MOVD x+24(FP), R3
	MOVD blocks+32(FP), R8
	MOVD R0, R1
	MOVD $4, R9
	FOURROWS(3)
	STARTS(F0, F1, F2, F3, F4, F5, F6, F7)
	STARTS(F8, F9, F10, F11, F12, F13, F14, F15)
	FOURDOTS
	FSTPQ.P (F0, F1), 32(R0)
	FSTPQ.P (F2, F3), 32(R0)
	FSTPQ.P (F4, F5), 32(R0)
	FSTPQ.P (F6, F7), 32(R0)
	FSTPQ.P (F8, F9), 32(R0)
	FSTPQ.P (F10, F11), 32(R0)
	FSTPQ.P (F12, F13), 32(R0)
	FSTPQ.P (F14, F15), 32(R0)
	RET

// ONE multiplies 8 entries of the row by those of x.
#define ONE(s0, s1, s2, s3) \
	FLDPQ.P 64(R3), (F16, F17); \
	FLDPQ   -32(R3), (F18, F19); \
	EIGHT(R4, s0, s1, s2, s3)

// func rowDots_1_neon(start, a, x *float64, blocks int) float64
TEXT ·rowDots_1_neon(SB), NOSPLIT, $0-40
	MOVD start+0(FP), R1
	MOVD a+8(FP), R4
	MOVD x+16(FP), R3
	MOVD blocks+24(FP), R8
	FLDPQ.P 32(R1), (F0, F1)
	FLDPQ.P 32(R1), (F2, F3)
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
	LSR  $2, R8, R9
	AND  $3, R8

fours:
	CBZ R9, rest
	SUB $1, R9
	ONE(V0, V1, V2, V3)
	ONE(V4, V5, V6, V7)
	ONE(V8, V9, V10, V11)
	ONE(V12, V13, V14, V15)
	B   fours

rest:
	CBZ R8, done
	SUB $1, R8
	ONE(V0, V1, V2, V3)
	B   rest

done:
	FADD2(4, 0, 0)
	FADD2(5, 1, 1)
	FADD2(6, 2, 2)
	FADD2(7, 3, 3)
	FADD2(8, 0, 0)
	FADD2(9, 1, 1)
	FADD2(10, 2, 2)
	FADD2(11, 3, 3)
	FADD2(12, 0, 0)
	FADD2(13, 1, 1)
	FADD2(14, 2, 2)
	FADD2(15, 3, 3)
	TOTAL(0, 1, 2, 3)
	FADDP2(0, 0, 0)
	FMOVD F0, ret+32(FP)
	RET

// EIGHT32 is EIGHT for float32, with x in V16 and V17.
#define EIGHT32(a, s0, s1) \
	FLDPQ.P 32(a), (F20, F21); \
	VFMLA   V20.S4, V16.S4, s0.S4; \
	VFMLA   V21.S4, V17.S4, s1.S4

// FOURDOTS32 is FOURDOTS for float32.
#define FOURDOTS32 \
loop: \
	CBZ     R8, done; \
	SUB     $1, R8; \
	FLDPQ.P 32(R3), (F16, F17); \
	EIGHT32(R4, V0, V1); \
	EIGHT32(R5, V2, V3); \
	EIGHT32(R6, V4, V5); \
	EIGHT32(R7, V6, V7); \
	B       loop; \
done:

// func rowDots32_4_neon(sums, start, a *float32, lda, c int, x *float32, blocks int)
//
// The order is ((0+1)+(2+3)) + ((4+5)+(6+7)).
TEXT ·rowDots32_4_neon(SB), NOSPLIT, $0-56
	MOVD sums+0(FP), R0
	MOVD start+8(FP), R1
	MOVD a+16(FP), R4
	MOVD lda+24(FP), R2
	MOVD c+32(FP), R9
	MOVD x+40(FP), R3
	MOVD blocks+48(FP), R8
	FOURROWS(2)
	STARTS(F0, F1, F2, F3, F4, F5, F6, F7)
	FOURDOTS32
	FADDP4(1, 0, 0)
	FADDP4(3, 2, 2)
	FADDP4(5, 4, 4)
	FADDP4(7, 6, 6)
	FADDP4(2, 0, 0)
	FADDP4(6, 4, 4)
	FADDP4(4, 0, 0)
	FMOVQ F0, (R0)
	RET

// func addDots32_4_neon(sums, a *float32, lda int, x *float32, blocks int)
TEXT ·addDots32_4_neon(SB), NOSPLIT, $0-40
	MOVD sums+0(FP), R0
	MOVD a+8(FP), R4
	MOVD lda+16(FP), R2
	MOVD x+24(FP), R3
	MOVD blocks+32(FP), R8
	MOVD R0, R1
	MOVD $4, R9
	FOURROWS(2)
	STARTS(F0, F1, F2, F3, F4, F5, F6, F7)
	FOURDOTS32
	FSTPQ.P (F0, F1), 32(R0)
	FSTPQ.P (F2, F3), 32(R0)
	FSTPQ.P (F4, F5), 32(R0)
	FSTPQ.P (F6, F7), 32(R0)
	RET

// ONE32 is ONE for float32.
#define ONE32(s0, s1) \
	FLDPQ.P 32(R3), (F16, F17); \
	EIGHT32(R4, s0, s1)

// func rowDots32_1_neon(start, a, x *float32, blocks int) float32
TEXT ·rowDots32_1_neon(SB), NOSPLIT, $0-36
	MOVD start+0(FP), R1
	MOVD a+8(FP), R4
	MOVD x+16(FP), R3
	MOVD blocks+24(FP), R8
	FLDPQ.P 32(R1), (F0, F1)
	ZERO(V2)
	ZERO(V3)
	ZERO(V4)
	ZERO(V5)
	ZERO(V6)
	ZERO(V7)
	LSR  $2, R8, R9
	AND  $3, R8

fours:
	CBZ R9, rest
	SUB $1, R9
	ONE32(V0, V1)
	ONE32(V2, V3)
	ONE32(V4, V5)
	ONE32(V6, V7)
	B   fours

rest:
	CBZ R8, done
	SUB $1, R8
	ONE32(V0, V1)
	B   rest

done:
	FADD4(2, 0, 0)
	FADD4(3, 1, 1)
	FADD4(4, 0, 0)
	FADD4(5, 1, 1)
	FADD4(6, 0, 0)
	FADD4(7, 1, 1)
	FADDP4(1, 0, 0)
	FADDP4(0, 0, 0)
	FADDP4(0, 0, 0)
	FMOVS F0, ret+32(FP)
	RET
