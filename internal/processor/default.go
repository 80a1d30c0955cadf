//go:build !(noasm && amd64)

package processor

import "github.com/klauspost/cpuid/v2"

// A Feature is a set of instructions of amd64.
type Feature = cpuid.FeatureID

// The features that tiles need.
const (
	AVX2     = cpuid.AVX2
	FMA3     = cpuid.FMA3
	BMI2     = cpuid.BMI2
	F16C     = cpuid.F16C
	AVX512F  = cpuid.AVX512F
	AVX512DQ = cpuid.AVX512DQ
	AVX512VL = cpuid.AVX512VL
)

// Supports reports whether the processor and the operating system support all of the features.
func Supports(features ...Feature) bool { return cpuid.CPU.Supports(features...) }

// Name returns the brand name, empty where the processor has none.
func Name() string { return cpuid.CPU.BrandName }

// IsAMD reports whether AMD made the processor.
func IsAMD() bool { return cpuid.CPU.VendorID == cpuid.AMD }

// L2 returns the bytes of the second-level cache of a core, not positive where they are unknown.
func L2() int { return cpuid.CPU.Cache.L2 }
