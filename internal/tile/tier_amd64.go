//go:build !purego

package tile

import "github.com/difalt/difalt/internal/processor"

// Available returns the tiers that this processor and build can run, Generic first and the default last.
func Available() []Tier {
	t := []Tier{Generic}
	if processor.Supports(processor.AVX2, processor.FMA3, processor.BMI2, processor.F16C) {
		t = append(t, AVX2)
		if processor.Supports(processor.AVX512F, processor.AVX512DQ, processor.AVX512VL) {
			t = append(t, AVX512)
		}
	}
	return t
}
