package tile_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The instructions that tiles may use, and the processor features, by the names of
// package cpuid, that each of them needs. What is not listed is refused: whoever
// uses an instruction for the first time looks up here what it needs.

// amd64Base lists what every amd64 processor has.
var amd64Base = set(`ADDL ADDQ ANDL ANDQ BSFL CMOVQEQ CMOVQGT CMOVQLE CMOVQLT CMOVQNE CMPB CMPL CMPQ DECL
		DECQ IMUL3Q IMULQ INCL INCQ JA JAE JB JBE JC JCC JCS JE JEQ JG JGE JGT JHI JHS JL JLE JLO JLS JLT
		JMP JNC JNE JNZ JZ LEAQ MOVB MOVBLZX MOVBQZX MOVL MOVLQSX MOVQ NEGQ NOTQ ORQ PREFETCHNTA
		PREFETCHT0 PREFETCHT1 PREFETCHT2 RET SARQ SHLQ SHRQ SUBL SUBQ TESTB TESTL TESTQ XORL XORQ`)

// amd64VEX lists what the VEX encoding of an instruction needs.
var amd64VEX = features(map[string]string{
	"AVX": `VADDPD VADDPS VADDSD VADDSS VANDNPD VANDPD VBLENDPD VBLENDVPD VBLENDVPS VBROADCASTF128
		VBROADCASTSD VBROADCASTSS VCMPPD VCMPPS VCVTPD2PSY VCVTPS2PD VCVTSS2SD VDIVPD VDIVSD VDIVSS
		VEXTRACTF128 VEXTRACTPS VHADDPD VHADDPS VINSERTF128 VINSERTPS VMASKMOVPD VMASKMOVPS VMAXPD VMAXPS VMAXSD
		VMINPD VMINSD VMOVAPD VMOVDDUP VMOVHPD VMOVMSKPD VMOVMSKPS VMOVQ VMOVSD VMOVSHDUP VMOVSS VMOVUPD VMOVUPS VMULPD
		VMULPS VMULSD VORPD VPERM2F128 VPERMILPD VPERMILPS VSHUFPD VSHUFPS VSQRTPD VSQRTSD VSUBPD VSUBSD VUCOMISD
		VUNPCKHPD VUNPCKHPS VUNPCKLPD VUNPCKLPS VXORPD VZEROUPPER`,
	"F16C": "VCVTPH2PS VCVTPS2PH",
	"AVX2": `VEXTRACTI128 VINSERTI128 VPADDQ VPAND VPBROADCASTQ VPCMPEQQ VPCMPGTQ VPERMPD VPERMQ
		VPMASKMOVQ VPOR VPSUBQ VPXOR`,
	"FMA3": `VFMADD132PD VFMADD132SD VFMADD213PD VFMADD213PS VFMADD213SD VFMADD231PD VFMADD231PS
		VFMADD231SD VFMSUB132PD VFMSUB132SD VFMSUB213PD VFMSUB213SD VFMSUB231PD VFMSUB231SD VFNMADD132PD
		VFNMADD132SD VFNMADD213PD VFNMADD213SD VFNMADD231PD VFNMADD231PS VFNMADD231SD`,
	"BMI2": `BZHIL BZHIQ SARXQ SHLXL SHLXQ SHRXL SHRXQ`,
})

// amd64EVEX lists what the EVEX encoding of an instruction, or a mask
// instruction, needs; shorter vectors than 512 bits need AVX512VL besides.
var amd64EVEX = features(map[string]string{
	"AVX512F": `KANDW KMOVW KNOTW KORW KUNPCKBW KXNORW KXORW VADDPD VADDPS VADDSD VALIGNQ VBLENDMPD
		VBROADCASTF64X4 VBROADCASTSD VBROADCASTSS VCMPPD VCOMPRESSPD VCVTPD2PS VCVTPH2PS VCVTPS2PD
		VCVTPS2PH VCVTSS2SD VDIVPD VDIVSD VEXPANDPD VEXTRACTF32X4 VEXTRACTF64X4 VFMADD132PD VFMADD132SD
		VFMADD213PD VFMADD213SD VFMADD231PD VFMADD231PS VFMADD231SD VFMSUB132PD VFMSUB213PD VFMSUB231PD
		VFNMADD132PD VFNMADD213PD VFNMADD231PD VFNMADD231SD VINSERTF64X4 VMAXPD VMAXSD VMINPD VMINSD
		VMOVAPD VMOVAPS VMOVDDUP VMOVSD VMOVUPD VMOVUPS VMULPD VMULPS VMULSD VPADDQ VPBROADCASTQ
		VPERMI2PD VPERMILPD VPERMILPS VPERMPD VPERMT2PD VPTERNLOGQ VPXORQ VSHUFF32X4 VSHUFF64X2 VSHUFPD VSHUFPS
		VSQRTPD VSQRTSD VSUBPD VSUBSD VUNPCKHPD VUNPCKLPD`,
	"AVX512DQ": `KMOVB KANDB KORB VANDNPD VANDPD VBROADCASTF32X8 VBROADCASTF64X2 VEXTRACTF64X2 VINSERTF32X8
		VINSERTF64X2 VORPD VXORPD`,
	"AVX512BW": `KMOVD KMOVQ KANDD KANDQ`,
})

var (
	evexRegister = regexp.MustCompile(`\b(Z[0-9]+|K[0-7]|[XY](1[6-9]|2[0-9]|3[01]))\b`)
	zRegister    = regexp.MustCompile(`\bZ[0-9]+\b`)
	xRegister    = regexp.MustCompile(`\bX[0-9]+\b`)
	xyRegister   = regexp.MustCompile(`\b[XY][0-9]+\b`)
)

// amd64Needs returns the features that an instruction needs.
func amd64Needs(op, args string) ([]string, error) {
	if amd64Base[op] {
		return nil, nil
	}
	name, suffix, _ := strings.Cut(op, ".")
	vex, isVEX := amd64VEX[name]
	if isVEX && suffix == "" && !evexRegister.MatchString(args) {
		if name == "VBROADCASTSD" && xRegister.MatchString(args) {
			return []string{"AVX2"}, nil // from memory it is AVX
		}
		return []string{vex}, nil
	}
	evex, isEVEX := amd64EVEX[name]
	if !isEVEX {
		return nil, fmt.Errorf("%s %s: not on the list of instructions", op, args)
	}
	needs := []string{evex}
	scalar := strings.HasSuffix(name, "SD")
	if !scalar && !zRegister.MatchString(args) && xyRegister.MatchString(args) {
		needs = append(needs, "AVX512VL")
	}
	return needs, nil
}

// arm64Base lists what every ARMv8.0 processor has, by Go's mnemonics.
var arm64Base = set(`ADD ADDS AND B BEQ BGE BGT BHI BHS BLE BLO BLS BLT BNE CBNZ CBZ CMP CSEL FADDD
		FMADDD FMADDS FMOVD FMOVQ FMOVS FMSUBD FMSUBS FMULD FMULS FNEGD FLDPD FLDPQ FSTPD FSTPQ FSUBD LSL
		LSR MADD MOVBU MOVD MUL PRFM RET SUB SUBS TBNZ TBZ VADDP VDUP VEOR VEXT VFMLA VFMLS VLD1 VLD1R
		VMOV VORR VST1 VZIP1 VZIP2`)

// arm64Words lists the encodings, less registers, of the ARMv8.0 instructions
// that Go's assembler lacks.
var arm64Words = map[string]string{
	"4E60D400": "FADD .2D",
	"6EE0F800": "FNEG .2D",
	"6E60D400": "FADDP .2D",
	"4FC09000": "FMUL .2D by element 0",
	"4FC01000": "FMLA .2D by element 0",
	"4FC05000": "FMLS .2D by element 0",
	"0E617800": "FCVTL .2D",
	"4E617800": "FCVTL2 .2D",
	"4E20D400": "FADD .4S",
	"6E20D400": "FADDP .4S",
	"4F809000": "FMUL .4S by element 0",
	"4F801000": "FMLA .4S by element 0",
}

var (
	arm64Word     = regexp.MustCompile(`^\$\(0x([0-9A-F]{8})( \| \(m\)<<16)? \| \(n\)<<5 \| \(d\)\)$`)
	arm64Register = regexp.MustCompile(`^([RFV][0-9]+|ZR|D2|S4)$`) // and types of vectors
	mnemonic      = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(\.[A-Z]+)?\b`)
)

// arm64Check returns an error unless ARMv8.0 has the instruction, which may be a
// macro with instructions as arguments.
func arm64Check(op, args string, macros map[string]bool) error {
	name, _, _ := strings.Cut(op, ".")
	switch {
	case op == "WORD":
		m := arm64Word.FindStringSubmatch(args)
		if m == nil || arm64Words[m[1]] == "" {
			return fmt.Errorf("WORD %s: not on the list of encodings", args)
		}
	case macros[name]:
		for _, arg := range mnemonic.FindAllString(args, -1) {
			arg, _, _ = strings.Cut(arg, ".") // .P and .W move the pointer
			if !arm64Base[arg] && !macros[arg] && !arm64Register.MatchString(arg) {
				return fmt.Errorf("%s%s: %s is not on the list of instructions", op, args, arg)
			}
		}
	case !arm64Base[name]:
		return fmt.Errorf("%s %s: not on the list of instructions", op, args)
	}
	return nil
}

// set returns the set of the words of a text.
func set(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(text) {
		words[w] = true
	}
	return words
}

// features turns lists of instructions by feature into the feature of each.
func features(lists map[string]string) map[string]string {
	of := map[string]string{}
	for _, feature := range slices.Sorted(maps.Keys(lists)) {
		for _, op := range strings.Fields(lists[feature]) {
			of[op] = feature
		}
	}
	return of
}
