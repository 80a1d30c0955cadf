//go:build noasm

package processor

import (
	"encoding/binary"
	"strings"
)

// A Feature is a set of instructions of amd64.
type Feature uint8

// The features that tiles need.
const (
	AVX2 Feature = iota
	FMA3
	BMI2
	F16C
	AVX512F
	AVX512DQ
	AVX512VL
)

// cpuid returns the registers of a leaf of the instruction CPUID.
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns the low half of the register that lists the registers that the operating system saves.
func xgetbv() uint32

// Supports reports whether the processor and the operating system support all of the features.
func Supports(features ...Feature) bool {
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return false
	}
	_, _, one, _ := cpuid(1, 0)
	_, seven, _, _ := cpuid(7, 0)
	const saves = 1 << 27 // OSXSAVE: xgetbv exists
	if one&saves == 0 {
		return false
	}
	const vectors, masks = 6, 0xe6 // XMM and YMM; and with masks and ZMM
	saved := xgetbv()
	for _, f := range features {
		register, bit, need := seven, uint32(0), uint32(vectors)
		switch f {
		case FMA3:
			register, bit = one, 12
		case F16C:
			register, bit = one, 29
		case AVX2:
			bit = 5
		case BMI2:
			bit = 8
		case AVX512F:
			bit, need = 16, masks
		case AVX512DQ:
			bit, need = 17, masks
		case AVX512VL:
			bit, need = 31, masks
		}
		if register&(1<<bit) == 0 || saved&need != need {
			return false
		}
	}
	return true
}

// text appends the bytes of registers.
func text(dst []byte, registers ...uint32) []byte {
	for _, v := range registers {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

const extended = 0x80000000 // the first of the leaves that describe the brand name and caches

// Name returns the brand name, empty where the processor has none.
func Name() string {
	most, _, _, _ := cpuid(extended, 0)
	if most < extended+4 {
		return ""
	}
	var name []byte
	for leaf := uint32(extended + 2); leaf <= extended+4; leaf++ {
		a, b, c, d := cpuid(leaf, 0)
		name = text(name, a, b, c, d)
	}
	return strings.TrimSpace(strings.Trim(string(name), "\x00"))
}

// IsAMD reports whether AMD made the processor.
func IsAMD() bool {
	_, b, c, d := cpuid(0, 0)
	return string(text(nil, b, d, c)) == "AuthenticAMD"
}

// L2 returns the bytes of the second-level cache of a core, not positive where they are unknown.
func L2() int {
	most, _, _, _ := cpuid(extended, 0)
	if most < extended+6 {
		return 0
	}
	_, _, size, _ := cpuid(extended+6, 0)
	return int(size>>16) << 10
}
