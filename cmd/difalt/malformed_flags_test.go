//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"

	"github.com/spf13/pflag"
)

// withoutChecksums packs the arrays of a file again, so that their checksums are right,
// and sometimes puts odd numbers into one of them.
func withoutChecksums(b []byte, r *rand.Rand) []byte {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return b
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	spoilt := r.IntN(2 * len(z.File))
	for i, e := range z.File {
		f, err := e.OpenRaw()
		if err != nil {
			return b
		}
		content, err := io.ReadAll(f)
		if err != nil {
			return b
		}
		if i == spoilt && len(content) >= 136 {
			at := 128 + 8*r.IntN((len(content)-128)/8)
			for k, v := range []byte{0, 0, 0, 0, 0, 0, 0xf0 ^ byte(r.IntN(256)), byte(0x7f ^ r.IntN(2)<<7)} {
				content[at+k] = v
			}
		}
		if r.IntN(20) == 0 {
			continue
		}
		to, err := w.Create(e.Name)
		if err != nil {
			return b
		}
		_, _ = to.Write(content)
	}
	_ = w.Close()
	return out.Bytes()
}

// The values that flags of every type are given.
var oddValues = []string{
	"", "0", "-1", "1", "2", "3", "1000000000", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e308",
	"1e-308", "NaN", "-Inf", "Inf", "0.5", "1.5", "-0.1",
	"x", "x,y,x0", "auto", "none", "true", "false", "tab", "--", "in.csv", ".", "/", "/dev/null", "ring", "er:0", "er:1", "er:2",
	"er:NaN", "star", "tree", "chebyshev", "int8", "1h", "-5ms", "\xff", "a\nb", "%d",
}

// oddFlags gives flags odd values, one to three at a time.
func (s *malformedSources) oddFlags(r *rand.Rand) *malformedCase {
	c := &malformedCase{kind: "flags", files: map[string][]byte{"in.csv": s.table, "model.npz": s.model}}
	base := map[string][]string{
		"fit":     {"--data", "in.csv", "--task", "t", "--target", "y", "--model", "out-model.npz"},
		"predict": {"--data", "in.csv", "--model", "model.npz", "--out", "out.csv"},
		"adapt":   {"--data", "in.csv", "--model", "model.npz", "--out", "out-model.npz"},
		"up":      {"--data", "in*.csv", "--task", "t", "--target", "y"},
		"simulate": {"--nodes", "3", "--tasks", "6", "--features", "5", "--rank", "2", "--samples", "8", "--iterations", "5",
			"--trials", "1", "--graph", "complete", "--out", "out"},
	}
	name := pick(r, "fit", "fit", "predict", "adapt", "up", "simulate", "simulate")
	cmd, _, err := newRootCommand().Find([]string{name})
	if err != nil {
		panic(err)
	}
	var flags []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "preset" {
			flags = append(flags, f)
		}
	})
	c.args = append([]string{name}, base[name]...)
	for range 1 + r.IntN(3) {
		c.args = append(c.args, "--"+pick(r, flags...).Name+"="+pick(r, oddValues...))
	}
	return c
}

// oddSizes asks for sizes that are possible, hardly possible and impossible.
func (s *malformedSources) oddSizes(r *rand.Rand) *malformedCase {
	c := &malformedCase{kind: "sizes", files: map[string][]byte{"in.csv": s.table, "model.npz": s.model}}
	size := func() string {
		return pick(r, "1", "2", "3", "7", "1000000", "1000000000", "1000000000000", "9223372036854775807")
	}
	switch r.IntN(3) {
	case 0:
		c.args = []string{"simulate", "--iterations", "3", "--trials", "1", "--nodes", "2", "--graph", "complete", "--out", "out"}
		for _, name := range []string{"nodes", "samples", "features", "tasks", "rank", "trials", "workers", "iterations",
			"init-rounds", "rounds"} {
			if r.IntN(4) == 0 {
				c.args = append(c.args, "--"+name, size())
			}
		}
	default:
		c.args = []string{"fit", "--data", "in.csv", "--task", "t", "--target", "y"}
		for _, name := range []string{"rank", "seed", "workers"} {
			if r.IntN(4) == 0 {
				c.args = append(c.args, "--"+name, size())
			}
		}
	}
	return c
}
