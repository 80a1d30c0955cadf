//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/options"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// asCommand makes the test program the command: tests of nodes need real processes.
const asCommand = "DIFALT_TEST_AS_COMMAND"

// parallel is how many tests run at the same time at least: those that may wait for timeouts of
// processes more than they compute.
const parallel = 4

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	flag.Parse()
	if flag.Lookup("test.parallel").Value.(flag.Getter).Get().(int) < parallel {
		_ = flag.Set("test.parallel", strconv.Itoa(parallel))
	}
	os.Exit(m.Run())
}

// clinicFlags are what training on examples/clinics.csv needs, in little time.
var clinicFlags = []string{"--task", "clinic", "--target", "score", "--drop", "patient", "--iterations", "30", "--tolerance", "-1"}

// sites splits examples/clinics.csv in three files by clinic, and returns their folder.
func sites(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	parts := []string{lines[0], lines[0], lines[0]}
	for _, line := range lines[1:] {
		var clinic int
		if _, err := fmt.Sscanf(line, "C%d,", &clinic); err != nil {
			t.Fatal(err)
		}
		parts[(clinic-1)*3/40] += "\n" + line
	}
	for i, part := range parts {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("site-%c.csv", 'a'+i)), []byte(part+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A process is a command that runs.
type process struct {
	cmd      *exec.Cmd
	out, err testnet.Buffer
	// temporary is its folder of temporary files, which the test removes: who is killed leaves some.
	temporary string
	done      chan struct{}
}

// launch starts the command; it ends with the test.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), temporary: t.TempDir(), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+p.temporary)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
	return p
}

// code waits for the end of a process, and returns its exit code.
func (p *process) code(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		t.Fatalf("still there after %v: %s", within, tail(p))
	}
	return p.cmd.ProcessState.ExitCode()
}

// said waits until a process has written a text to its log.
func (p *process) said(t *testing.T, text string) {
	t.Helper()
	for range 3000 {
		if strings.Contains(p.err.String(), text) {
			return
		}
		select {
		case <-p.done:
			t.Fatalf("ended without %q: %s", text, tail(p))
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("never says %q: %s", text, tail(p))
}

// A federation is a cluster of three nodes on loopback with a table each.
type federation struct {
	folder  string
	cluster *cluster.Cluster
	listen  []string // where the nodes listen; others may dial another address
}

var nodeNames = []string{"site-a", "site-b", "site-c"}

// newFederation writes the files of a cluster. Between the nodes stands what through makes
// of an address; nil is nothing.
func newFederation(t *testing.T, graph string, through func(address string) string) *federation {
	t.Helper()
	f := &federation{folder: sites(t)}
	var addresses []string
	for range nodeNames {
		address := testnet.FreeAddress()
		f.listen = append(f.listen, address)
		if through != nil {
			address = through(address)
		}
		addresses = append(addresses, address)
	}
	g, err := topology.Parse(graph, len(nodeNames), 1)
	if err != nil {
		t.Fatal(err)
	}
	c, keys, err := cluster.New(nodeNames, addresses, g, "metropolis")
	if err == nil {
		err = cluster.Write(f.folder, c, keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.cluster = c
	return f
}

func (f *federation) path(name string) string { return filepath.Join(f.folder, name) }

// arguments are the command line of a node.
func (f *federation) arguments(node int, more ...string) []string {
	name := nodeNames[node]
	args := append([]string{"node", "--cluster", f.path(cluster.File), "--key", f.path(name + ".key"), "--listen", f.listen[node],
		"--data", f.path(name + ".csv"), "--model", f.path("m-" + name + ".npz"), "--log-every", "20ms", "--join-timeout", "20s"}, clinicFlags...)
	return append(args, more...)
}

// launch starts all nodes.
func (f *federation) launch(t *testing.T, more ...string) []*process {
	t.Helper()
	var list []*process
	for i := range nodeNames {
		list = append(list, launch(t, f.arguments(i, more...)...))
	}
	return list
}

// whole fits all files in this process, as difalt fit does.
func (f *federation) whole(t *testing.T, graph string, more ...string) *model.Model {
	t.Helper()
	flags := &fitRun{Flags: options.New(options.Fit)}
	path := filepath.Join(t.TempDir(), "whole.npz")
	args := append([]string{"--data", f.path("site-*.csv"), "--graph", graph, "--model", path}, clinicFlags...)
	err := flags.Set.Parse(append(args, more...))
	if err == nil {
		err = flags.Resolve()
	}
	if err == nil {
		err = flags.run(t.Context(), new(bytes.Buffer), new(bytes.Buffer))
	}
	if err != nil {
		t.Fatal(err)
	}
	return load(t, path)
}

func load(t *testing.T, path string) *model.Model {
	t.Helper()
	m, err := model.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sameBits compares the models of the nodes with that of one process.
func (f *federation) sameBits(t *testing.T, what string, whole *model.Model) {
	t.Helper()
	all, tasks := whole.Parameters(), 0
	d := all.Scaling.Width()
	at := map[string]int{}
	for k, task := range all.Tasks {
		at[task] = k
	}
	for i, name := range nodeNames {
		m := load(t, f.path("m-"+name+".npz"))
		p := m.Parameters()
		type shared struct{ a, b any }
		for part, x := range map[string]shared{
			"node": {p.Nodes, all.Nodes[i : i+1]}, "prior": {p.Prior, all.Prior}, "mean": {p.Mean, all.Mean},
			"scaling": {p.Scaling, all.Scaling},
		} {
			if !reflect.DeepEqual(x.a, x.b) {
				t.Errorf("%s: %s: %s differs from that in one process: %v, want %v", what, name, part, x.a, x.b)
			}
		}
		for k, task := range p.Tasks {
			j := at[task]
			if !reflect.DeepEqual(p.Theta[k*d:][:d], all.Theta[j*d:][:d]) {
				t.Errorf("%s: %s: task %s differs from that in one process", what, name, task)
			}
		}
		tasks += len(p.Tasks)
	}
	if tasks != len(all.Tasks) {
		t.Errorf("%s: %d tasks in the parts, %d in the whole", what, tasks, len(all.Tasks))
	}
}

// clean reports files that should not be there: models, and beginnings of them.
func (f *federation) clean(t *testing.T, what string, but *process) {
	t.Helper()
	for _, pattern := range []string{"m-*.npz", ".m-*"} {
		list, err := filepath.Glob(f.path(pattern))
		if err != nil {
			t.Fatal(err)
		}
		// A process that is killed cannot remove its temporary file; nobody takes that for
		// a model.
		if but != nil && pattern == ".m-*" && len(list) == 1 {
			continue
		}
		if len(list) > 0 {
			t.Errorf("%s: leaves %q", what, list)
		}
	}
}
