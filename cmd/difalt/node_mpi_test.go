//go:build mpi

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/google/go-cmp/cmp"
)

// mpirun starts three processes of node and returns their output and the exit code of the launcher.
func mpirun(t *testing.T, dir string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	// A path may have spaces: the shell gets it as $0, and the flags as $@.
	const script = `exec "$0" node --engine mpi --data s-$OMPI_COMM_WORLD_RANK.csv --model ` +
		`m-$OMPI_COMM_WORLD_RANK.npz "$@"`
	return mpirunScript(t, dir, script, more...)
}

// mpirunScript is mpirun for a shell script of each process.
func mpirunScript(t *testing.T, dir, script string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	launcher, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip(err)
	}
	args := []string{"--allow-run-as-root", "--oversubscribe", "-np", "3", "sh", "-c", script, os.Args[0]}
	cmd := exec.CommandContext(t.Context(), launcher, slices.Concat(args, siteFlags, more)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code has the error
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// numberedSites returns a folder with the tables of the sites under the numbers of processes.
func numberedSites(t *testing.T) string {
	t.Helper()
	dir := sites(t)
	for i, name := range siteNames {
		write(t, dir, "s-"+string(rune('0'+i))+".csv", string(readFile(t, dir, name+".csv")))
	}
	return dir
}

// Nodes over MPI have the shared parameters of up, bit for bit, and one report is printed.
func TestMPI(t *testing.T) {
	dir := numberedSites(t)
	stdout, stderr, code := mpirun(t, dir)
	if code != 0 || strings.Count(stdout, "The totals are over 26 tasks of 3 nodes") != 1 {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	must(t, append([]string{"up", "--data", filepath.Join(dir, "s-*.csv"), "--model", filepath.Join(dir, "u.npz")},
		siteFlags...)...)
	all := load(t, filepath.Join(dir, "u.npz")).Parameters()
	for _, i := range []string{"0", "1", "2"} {
		p := load(t, filepath.Join(dir, "m-"+i+".npz")).Parameters()
		if !cmp.Equal(p.Mean, all.Mean) || !cmp.Equal(p.Prior, all.Prior) {
			t.Errorf("process %s has another model than up", i)
		}
	}
}

// The commands of docs/network.md and of the help that train over MPI run as they are written.
func TestMPIOfPages(t *testing.T) {
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip(err)
	}
	for name, value := range map[string]string{ // of Open MPI: as root, and with more processes than processors
		"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
		"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
	} {
		t.Setenv(name, value)
	}
	ran := 0
	for _, script := range pageScripts(t) {
		if script.mpi {
			ran++
			t.Run(script.name, func(t *testing.T) { runScript(t, script) })
		}
	}
	if ran < 2 {
		t.Errorf("the pages have %d commands over MPI", ran)
	}
}

// A process that cannot read its table is named, and all end.
func TestMPIWithoutTable(t *testing.T) {
	dir := numberedSites(t)
	write(t, dir, "s-1.csv", "clinic,patient,age,score\nC1,p,1e999,3\n")
	_, stderr, code := mpirun(t, dir)
	if code == 0 || !strings.Contains(stderr, `s-1.csv: line 2, column "age"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	refuses(t, cli.ExitUsage, "this process is alone",
		append([]string{"node", "--engine", "mpi", "--data", "x.csv"}, siteFlags...)...)
}

// A process that is interrupted during the training ends the whole job: the others do not wait for the time
// of a round, which is an hour here.
func TestMPIInterrupted(t *testing.T) {
	dir := t.TempDir()
	var table strings.Builder
	table.WriteString("clinic,patient,age,dose,score\n")
	for i := range 60_000 {
		fmt.Fprintf(&table, "C%d,p,%d,%d,%d\n", i/30, i*7919%61, i*104729%97, i*1299709%101+i/30%9)
	}
	for i := range 3 {
		write(t, dir, fmt.Sprintf("s-%d.csv", i), strings.ReplaceAll(table.String(), "C", fmt.Sprintf("%d-", i)))
	}
	const script = `if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (sleep 2; kill -INT $$) & fi; ` +
		`exec "$0" node --engine mpi --data s-$OMPI_COMM_WORLD_RANK.csv --model m-$OMPI_COMM_WORLD_RANK.npz "$@"`
	_, stderr, code := mpirunScript(t, dir, script, "--round-timeout", "1h")
	early := strings.Contains(stderr, "signal 2") // it had hardly started
	if code == 0 || !early && !strings.Contains(stderr, "interrupted: nothing was written") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for i := range 3 {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("m-%d.npz", i))); err == nil {
			t.Errorf("process %d has a model", i)
		}
	}
}
