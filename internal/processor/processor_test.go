//go:build linux && amd64

package processor

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The processor is the one that the kernel of Linux sees, with every build tag.
func TestProcessor(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	flags := strings.Fields(fields["flags"])
	if len(flags) == 0 {
		t.Skip("the file names no flags")
	}
	all := true
	for name, f := range map[string]Feature{
		"avx2":     AVX2,
		"fma":      FMA3,
		"bmi2":     BMI2,
		"f16c":     F16C,
		"avx512f":  AVX512F,
		"avx512dq": AVX512DQ,
		"avx512vl": AVX512VL,
	} {
		want := slices.Contains(flags, name)
		all = all && want
		if Supports(f) != want {
			t.Errorf("%s: %t, Linux says %t", name, !want, want)
		}
	}
	if Supports(AVX2, FMA3, BMI2, F16C, AVX512F, AVX512DQ, AVX512VL) != all || !Supports() {
		t.Errorf("all features together: want %t", all)
	}
	if got, want := strings.Join(strings.Fields(Name()), " "), fields["model name"]; got != want {
		t.Errorf("name %q, Linux says %q", got, want)
	}
	if IsAMD() != (fields["vendor_id"] == "AuthenticAMD") {
		t.Errorf("AMD: %t, Linux says %s", IsAMD(), fields["vendor_id"])
	}
	if size := L2(); size > 0 && (size < 64<<10 || size > 64<<20) {
		t.Errorf("a second-level cache of %d bytes", size)
	}
}
