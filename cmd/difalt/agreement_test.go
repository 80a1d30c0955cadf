//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/longtest"
)

// smallSites overwrites the tables of a federation by small ones, on which a training takes a
// moment.
func (f *federation) smallSites(t *testing.T) {
	t.Helper()
	for i, name := range nodeNames {
		rng, text := rand.New(rand.NewPCG(uint64(i), 6)), "patient,clinic,x1,x2,x3,score\n"
		for row := range 3 * 8 {
			x, y, z := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			text += fmt.Sprintf("%d,C%d-%d,%.3f,%.3f,%.3f,%.3f\n", row, i, row%3, x, y, z, float64(row%3)*(x-y)+z+rng.NormFloat64()/4)
		}
		if err := os.WriteFile(f.path(name+".csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAgreements: whatever is said about the method and how nodes agree, fit, and as many nodes as
// there are files, do the same: they use what they say, with the same bits, or refuse it with the
// same words.
func TestAgreements(t *testing.T) {
	t.Parallel()
	inFull(t)
	cases := []string{
		"", "--compress int8", "--agree plain", "--agree chebyshev --compress int4", "--agree tree --rounds 3", "--agree plain --compress none", "--agree tree --compress int16",
		"--method dif", "--method dec", "--method altgdmin", "--method dgd --compress int8 --agree plain", "--method scaled --rounds 2", "--method tracking --agree plain",
		"--method accelerated --agree chebyshev --compress int8", "--method accelerated-tracking --compress float32", "--agree plain --init-rounds 4", "--auto",
	}
	if longtest.Enabled() {
		cases = append(cases, "--compress none", "--compress int4", "--agree tree", "--agree chebyshev", "--rounds 3", "--agree plain --rounds 3", "--method dgd", "--method scaled",
			"--method tracking", "--method accelerated", "--method accelerated-tracking", "--method dif --compress int8", "--method dif --agree plain --rounds 2", "--init-rounds 4")
	}
	f := newFederation(t, "path", nil)
	f.smallSites(t)
	short := []string{"--iterations", "4", "--power-iterations", "2", "--starts", "1", "--rank", "1", "--step", "1e-3"}
	for _, what := range cases {
		flags := append(short[:len(short):len(short)], strings.Fields(what)...)
		whole := filepath.Join(t.TempDir(), "m.npz")
		args := append(append([]string{"fit", "--data", f.path("site-*.csv"), "--graph", "path", "--model", whole}, clinicFlags...), flags...)
		said, refused, code := difaltCommand(t, args...)
		outs, errs, codes := f.trainHere(t, flags...)
		for i := range nodeNames {
			switch {
			case codes[i] != code:
				t.Errorf("%s: node %d ends with %d, fit with %d: %s%s", what, i, codes[i], code, errs[i], refused)
			case code != 0 && !strings.HasSuffix(errs[i], refused):
				t.Errorf("%s: node %d says %q, fit %q", what, i, errs[i], refused)
			case code == 0 && agreementSaid(said) != agreementSaid(outs[i]):
				t.Errorf("%s: node %d says %q, fit %q", what, i, agreementSaid(outs[i]), agreementSaid(said))
			}
		}
		if code == 0 && !t.Failed() {
			f.sameBits(t, what, load(t, whole))
		}
		t.Logf("%s: %d, %s", what, code, agreementSaid(said)+refused)
	}
}

// agreementSaid returns what a report says on how nodes agree.
func agreementSaid(report string) string {
	for line := range strings.Lines(report) {
		if i := strings.Index(line, "method "); i >= 0 {
			return strings.TrimSpace(line[i:])
		}
	}
	return ""
}

// trainHere runs all nodes in this process.
func (f *federation) trainHere(t *testing.T, flags ...string) (outs, errs []string, codes []int) {
	outs, errs, codes = make([]string, len(nodeNames)), make([]string, len(nodeNames)), make([]int, len(nodeNames))
	var wg sync.WaitGroup
	for i := range nodeNames {
		wg.Go(func() { outs[i], errs[i], codes[i] = difaltCommand(t, f.arguments(i, flags...)...) })
	}
	wg.Wait()
	return outs, errs, codes
}

// TestSameFiles: the files of up and of node are the same, byte by byte, for nodes that are called
// alike, as up does after their tables, and along a tree whatever the graph.
func TestSameFiles(t *testing.T) {
	t.Parallel()
	f := newFederation(t, "path", nil)
	f.smallSites(t)
	flags := []string{"--rank", "1", "--graph", "ring"}
	if _, errs, codes := f.trainHere(t, flags[:2]...); !slices.Equal(codes, []int{0, 0, 0}) {
		t.Fatal(errs)
	}
	p := launch(t, append(append([]string{"up", "--data", f.path("site-*.csv"), "--model", f.path("up.npz")}, clinicFlags...), flags...)...)
	if code := p.code(t, time.Minute); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	for _, name := range nodeNames {
		one, err := os.ReadFile(f.path("m-" + name + ".npz"))
		if err != nil {
			t.Fatal(err)
		}
		if other, err := os.ReadFile(f.path("up-" + name + ".npz")); err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s: up writes another file: %v", name, err)
		}
	}
}

// TestSeen: what neighbours see beyond sums is said once before the training, and again in the
// report, as text and as JSON: of gossip, and of two nodes. Nothing is said of three along a tree.
func TestSeen(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	f.smallSites(t)
	const gossip, two = "Neighbours see this node's own estimates", "each learns the other's part"
	for _, c := range []struct {
		files, flags string
		gossip, two  int
	}{
		{"site-[ab].csv", "--agree chebyshev", 1, 1},
		{"site-[ab].csv", "--json", 0, 1},
		{"site-?.csv", "--agree plain --json", 1, 0},
		{"site-?.csv", "", 0, 0},
		{"site-?.csv", "--method dgd --step 1e-4", 1, 0},
	} {
		args := append([]string{"up", "--data", f.path(c.files), "--rank", "1"}, clinicFlags...)
		p := launch(t, append(args, strings.Fields(c.flags)...)...)
		if code := p.code(t, time.Minute); code != 0 {
			t.Fatalf("%s: exit code %d: %s", c.flags, code, p.err.String())
		}
		for where, text := range map[string]string{"before": p.err.String(), "in the report": p.out.String()} {
			text = strings.Join(strings.Fields(text), " ")
			if n, m := strings.Count(text, gossip), strings.Count(text, two); n != c.gossip || m != c.two {
				t.Errorf("%s of %s: said %s %d and %d times, want %d and %d: %s", c.flags, c.files, where, n, m, c.gossip, c.two, text)
			}
		}
	}
	_, errs, codes := f.trainHere(t, "--rank", "1", "--agree", "plain")
	for i, text := range errs {
		if codes[i] != 0 || strings.Count(text, gossip) != 1 || !strings.Contains(text, "level=WARN") {
			t.Errorf("node %d: exit code %d: %s", i, codes[i], text)
		}
	}
}
