//go:build faults && linux

// Package faults runs three nodes in network namespaces with faults between and inside them. Every trial must
// end with models of the same bits as without the fault, or with errors that name a node, in the documented
// time, and without an incomplete file. It needs root, ip, nft and tc. -count repeats the trials, -parallel
// limits those at once, and -short leaves out those that take long.
package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A bench is what all trials have in common.
type bench struct {
	command string             // difalt
	folder  string             // of the tables
	sums    map[bool][3]string // of the models without a fault, with few rounds and with many
}

func TestFaults(t *testing.T) {
	if err := able(); err != nil {
		t.Fatalf("SKIPPED, which is not passed: %v", err)
	}
	folder := t.TempDir()
	b := &bench{filepath.Join(folder, "difalt"), folder, map[bool][3]string{}}
	if text, err := exec.Command("go", "build", "-o", b.command, "github.com/difalt/difalt/cmd/difalt").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, text)
	}
	b.split(t)
	for _, few := range []bool{true, false} {
		reference := &trial{T: t, world: newWorld(t), bench: b, fault: &fault{few: few}}
		reference.launch()
		for _, p := range reference.list {
			p.over(time.Minute)
		}
		b.sums[few] = reference.sums()
		reference.finish()
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if t.Parallel(); testing.Short() && f.long {
				t.Skip("it takes long")
			}
			tr := &trial{T: t, world: newWorld(t), bench: b, fault: &f}
			f.do(tr)
			tr.finish()
		})
	}
}

// split writes the tables of the three owners: a third of the rows of the example each.
func (b *bench) split(t *testing.T) {
	text, err := os.ReadFile("../../../../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	i := 0
	for rows := range slices.Chunk(lines[1:], (len(lines)+1)/len(nodes)) {
		if err := os.WriteFile(filepath.Join(b.folder, nodes[i]+".csv"), []byte(lines[0]+strings.Join(rows, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		i++
	}
}
