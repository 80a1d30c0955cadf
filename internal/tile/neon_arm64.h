// Advanced SIMD instructions of ARMv8.0 for which the Go assembler has no
// mnemonic. Operands are register numbers; .D2 means two float64, .S4 four float32.

// FADD V_m.D2, V_n.D2, V_d.D2: d = n + m.
#define FADD2(m, n, d) WORD $(0x4E60D400 | (m)<<16 | (n)<<5 | (d))

// FADDP V_m.D2, V_n.D2, V_d.D2: d = (n[0]+n[1], m[0]+m[1]).
#define FADDP2(m, n, d) WORD $(0x6E60D400 | (m)<<16 | (n)<<5 | (d))

// FMUL V_m.D[0], V_n.D2, V_d.D2: d = n * m[0].
#define FMULE(m, n, d) WORD $(0x4FC09000 | (m)<<16 | (n)<<5 | (d))

// FMLA V_m.D[0], V_n.D2, V_d.D2: d += n * m[0].
#define FMLAE(m, n, d) WORD $(0x4FC01000 | (m)<<16 | (n)<<5 | (d))

// FMLS V_m.D[0], V_n.D2, V_d.D2: d -= n * m[0].
#define FMLSE(m, n, d) WORD $(0x4FC05000 | (m)<<16 | (n)<<5 | (d))

// FCVTL V_n.S2, V_d.D2: the lower two float32 of n as float64.
#define FCVTL(n, d) WORD $(0x0E617800 | (n)<<5 | (d))

// FCVTL2 V_n.S4, V_d.D2: the upper two float32 of n as float64.
#define FCVTL2(n, d) WORD $(0x4E617800 | (n)<<5 | (d))

// ZERO clears a vector register.
#define ZERO(v) VEOR v.B16, v.B16, v.B16

// FADD V_m.S4, V_n.S4, V_d.S4: d = n + m.
#define FADD4(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))

// FADDP V_m.S4, V_n.S4, V_d.S4: d = (n[0]+n[1], n[2]+n[3], m[0]+m[1], m[2]+m[3]).
#define FADDP4(m, n, d) WORD $(0x6E20D400 | (m)<<16 | (n)<<5 | (d))

// FMUL V_m.S[0], V_n.S4, V_d.S4: d = n * m[0].
#define FMULE4(m, n, d) WORD $(0x4F809000 | (m)<<16 | (n)<<5 | (d))

// FMLA V_m.S[0], V_n.S4, V_d.S4: d += n * m[0].
#define FMLAE4(m, n, d) WORD $(0x4F801000 | (m)<<16 | (n)<<5 | (d))
