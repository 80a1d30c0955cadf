package tile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests read the source of the package. A tile that uses an instruction
// beyond the guard of its tier works on the machine of whoever wrote it and dies on
// another one, where no test may ever run.

// A statement is one instruction, directive or use of a macro in an assembly file.
type statement struct {
	line     int
	symbol   string // the function that it belongs to; empty in a macro
	op, args string
}

var (
	define = regexp.MustCompile(`^#define\s+(\w+)(?:\(([^)]*)\))?\s*(.*)$`)
	label  = regexp.MustCompile(`^\w+:\s*`)
	text   = regexp.MustCompile(`^·(\w+)\(SB\)`)
)

// statements splits assembly source and collects the names of the macros in it and
// of their parameters.
func statements(source string, macros map[string]bool) []statement {
	var all []statement
	symbol := ""
	for i, line := range strings.Split(source, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if m := define.FindStringSubmatch(line); m != nil {
			symbol, line = "", m[3]
			macros[m[1]] = true
			for p := range strings.SplitSeq(m[2], ",") {
				macros[strings.TrimSpace(p)] = true
			}
		}
		if strings.HasPrefix(line, "#include") {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(line, `\`), ";") {
			part = strings.TrimSpace(label.ReplaceAllString(strings.TrimSpace(part), ""))
			if part == "" {
				continue
			}
			end := strings.IndexAny(part+" ", " \t(")
			s := statement{i + 1, symbol, part[:end], strings.TrimSpace(part[end:])}
			if s.op == "TEXT" {
				if m := text.FindStringSubmatch(s.args); m != nil {
					symbol, s.symbol = m[1], m[1]
				}
			}
			all = append(all, s)
		}
	}
	return all
}

var supports = regexp.MustCompile(`Supports\(([^)]*)\)`)

// guards returns the features that the source of available, on amd64, asks for
// before it offers a tier. The guard of AVX-512 is inside of that of AVX2.
func guards(t *testing.T) map[string][]string {
	source, err := os.ReadFile("tier_amd64.go")
	if err != nil {
		t.Fatal(err)
	}
	g := map[string][]string{}
	for _, call := range supports.FindAllStringSubmatch(string(source), -1) {
		names := strings.Split(strings.ReplaceAll(strings.ReplaceAll(call[1], "processor.", ""), " ", ""), ",")
		if slices.Contains(names, "AVX2") {
			g["avx2"] = append(names, "AVX") // which AVX2 implies
		}
		if slices.Contains(names, "AVX512F") {
			g["avx512"] = append(slices.Clone(g["avx2"]), names...)
		}
	}
	if g["avx2"] == nil || g["avx512"] == nil {
		t.Fatalf("no guards found in tier_amd64.go: %v", g)
	}
	return g
}

// tierOf returns the tier in the name of a function in assembly.
func tierOf(symbol string) string { return symbol[strings.LastIndex(symbol, "_")+1:] }

// beyond returns an error when a statement of an amd64 or arm64 file is not within
// the guard of its function.
func beyond(arch string, s statement, guards map[string][]string, macros map[string]bool) error {
	switch s.op {
	case "TEXT", "DATA", "GLOBL":
		return nil
	}
	if arch == "arm64" {
		if s.symbol != "" && tierOf(s.symbol) != "neon" {
			return fmt.Errorf("%s has no tier of arm64 in its name", s.symbol)
		}
		return arm64Check(s.op, s.args, macros)
	}
	guard, ok := guards[tierOf(s.symbol)]
	if !ok && !strings.HasSuffix(s.symbol, "Tile") { // which jumps to the tile of any tier
		return fmt.Errorf("%q has no tier of amd64 in its name", s.symbol)
	}
	needs, err := amd64Needs(s.op, s.args)
	for _, feature := range needs {
		if !slices.Contains(guard, feature) {
			return fmt.Errorf("%s %s needs %s, which the guard of %s does not ask for", s.op, s.args, feature,
				tierOf(s.symbol))
		}
	}
	return err
}

// assembly returns the names of the assembly files and headers for an architecture.
func assembly(t *testing.T, arch string) []string {
	var names []string
	for _, pattern := range []string{"*.h", "*.s"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if strings.Contains(name, "_"+arch+".") {
				names = append(names, name)
			} else if !strings.Contains(name, "_amd64.") && !strings.Contains(name, "_arm64.") {
				t.Errorf("%s is for no architecture", name)
			}
		}
	}
	if len(names) == 0 {
		t.Errorf("no assembly for %s", arch)
	}
	return names
}

func TestSourceInstructions(t *testing.T) {
	guards := guards(t)
	for _, arch := range []string{"amd64", "arm64"} {
		macros := map[string]bool{}
		for _, name := range assembly(t, arch) { // headers come first
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range statements(string(source), macros) {
				if err := beyond(arch, s, guards, macros); err != nil {
					t.Errorf("%s:%d: %v", name, s.line, err)
				}
			}
		}
	}
}

// What an untested check lets through is not known, so it is shown the mistakes
// that it is for.
func TestSourceInstructionsCatches(t *testing.T) {
	guards := map[string][]string{
		"avx2":   {"AVX", "AVX2", "FMA3"},
		"avx512": {"AVX", "AVX2", "FMA3", "AVX512F", "AVX512DQ"},
	}
	for _, test := range []struct {
		arch, symbol, line string
		want               string // part of the message; empty: allowed
	}{
		{"amd64", "f_avx2", "VFMADD231PD (AX)(BX*8), Y1, Y15", ""},
		{"amd64", "f_avx2", "VFMADD231PD (AX), Z1, Z2", "AVX512F"},
		{"amd64", "f_avx2", "VFMADD231PD Y16, Y1, Y2", "AVX512F"},
		{"amd64", "f_avx2", "VADDPD.BCST (AX), Y1, Y2", "AVX512F"},
		{"amd64", "f_avx2", "VXORPD Z1, Z1, Z1", "AVX512DQ"},
		{"amd64", "f_avx2", "KMOVW AX, K1", "AVX512F"},
		{"amd64", "f_avx2", "VPERMT2PD Y0, Y1, Y2", "AVX512F"},
		{"amd64", "f_avx2", "SHLXQ AX, BX, CX", "BMI2"},
		{"amd64", "f_avx2", "MOVSD X0, (AX)", "not on the list"}, // SSE, slow after vectors
		{"amd64", "fTile", "JMP AX", ""},
		{"amd64", "fTile", "VZEROUPPER", "AVX"},
		{"amd64", "f_avx512", "VMOVUPD.Z (AX), K1, Z1", ""},
		{"amd64", "f_avx512", "VMOVUPD (AX), K1, Y1", "AVX512VL"},
		{"amd64", "f_avx512", "KMOVQ AX, K1", "AVX512BW"},
		{"amd64", "f_avx512", "VEXTRACTF128 $1, Y17, X1", "not on the list"},
		{"amd64", "f_avx512", "VDPBF16PS Z1, Z2, Z3", "not on the list"},
		{"amd64", "f_neon", "RET", "no tier"},
		{"amd64", "f", "RET", "no tier"},
		{"arm64", "f_neon", "VFMLA V1.D2, V2.D2, V3.D2", ""},
		{"arm64", "f_neon", "FLDPQ.P 32(R1), (F16, F17)", ""},
		{"arm64", "f_neon", "MACRO(FLDPQ.P, R1)", ""},
		{"arm64", "f_neon", "MACRO(ZLD1D, R1)", "ZLD1D"},
		{"arm64", "f_neon", "VBCAX V1.B16, V2.B16, V3.B16, V4.B16", "not on the list"},
		{"arm64", "f_neon", "LDADDALD R1, (R2), R3", "not on the list"},
		{"arm64", "f_neon", "WORD $(0x65E00000 | (m)<<16 | (n)<<5 | (d))", "not on the list"},
		{"arm64", "f_neon", "WORD $0x4E60D400", "not on the list"},
		{"arm64", "f_avx2", "RET", "no tier"},
	} {
		source := fmt.Sprintf("TEXT ·%s(SB), NOSPLIT, $0\nloop: %s // comment\n", test.symbol, test.line)
		found := ""
		for _, s := range statements(source, map[string]bool{}) {
			if err := beyond(test.arch, s, guards, map[string]bool{"MACRO": true}); err != nil {
				found += err.Error()
			}
		}
		if (test.want == "") != (found == "") || !strings.Contains(found, test.want) {
			t.Errorf("%s, %s: %s: got %q, want %q", test.arch, test.symbol, test.line, found, test.want)
		}
	}
}
