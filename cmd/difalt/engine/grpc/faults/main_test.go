//go:build faults && linux

// Package faults runs three nodes in network namespaces with faults between and inside them. Every trial must
// end with models of the same bits as without the fault, or with errors that name a node, in the documented
// time, and without an incomplete file. It needs root, ip, nft and tc. -count repeats the trials, -parallel
// limits those at once, and -short leaves out those that take long.
package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

var (
	command = flag.String("difalt", "", "the command to test (default: built here)")
	table   = flag.String("data", "../../../../../examples/clinics.csv", "the table of the trials")
)

func TestFaults(t *testing.T) {
	if err := able(); err != nil {
		t.Fatalf("SKIPPED, which is not passed: %v", err)
	}
	b := &bench{*command, t.TempDir(), map[bool][3]string{}}
	if *command == "" {
		b.command = filepath.Join(b.folder, "difalt")
		if text, err := exec.Command("go", "build", "-o", b.command, "github.com/difalt/difalt/cmd/difalt").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v: %s", err, text)
		}
	}
	if err := b.split(*table); err != nil {
		t.Fatal(err)
	}
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

// split writes the tables of the three owners.
func (b *bench) split(table string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	parts := make([]string, len(nodes))
	for _, line := range lines[1:] {
		var clinic int
		if _, err := fmt.Sscanf(line, "C%d,", &clinic); err != nil {
			return fmt.Errorf("%s: %q: %w", table, line, err)
		}
		parts[(clinic-1)*len(nodes)/40] += line + "\n"
	}
	for i, part := range parts {
		if err := os.WriteFile(filepath.Join(b.folder, nodes[i]+".csv"), []byte(lines[0]+"\n"+part), 0o600); err != nil {
			return err
		}
	}
	return nil
}
