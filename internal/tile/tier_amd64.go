//go:build !purego

package tile

import "github.com/klauspost/cpuid/v2"

// Available returns the tiers that this processor and build can run, Generic first and the default last.
func Available() []Tier {
	t := []Tier{Generic}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI2, cpuid.F16C) {
		t = append(t, AVX2)
		if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL) {
			t = append(t, AVX512)
		}
	}
	return t
}
