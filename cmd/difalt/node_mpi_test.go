//go:build mpi

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ranks splits examples/clinics.csv into a file for each of n processes, and makes
// nodeNames theirs while the test lasts.
func ranks(t *testing.T, n int) *federation {
	t.Helper()
	text, err := os.ReadFile("../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	f := &federation{folder: t.TempDir()}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	parts := make([]string, n)
	for _, line := range lines[1:] {
		var clinic int
		if _, err := fmt.Sscanf(line, "C%d,", &clinic); err != nil {
			t.Fatal(err)
		}
		parts[(clinic-1)*n/40] += line + "\n"
	}
	before := nodeNames
	t.Cleanup(func() { nodeNames = before })
	nodeNames = nil
	for i, part := range parts {
		nodeNames = append(nodeNames, fmt.Sprintf("site-%d", i))
		if err := os.WriteFile(f.path(nodeNames[i]+".csv"), []byte(lines[0]+"\n"+part), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// mpirun starts as many processes as there are names, with the same flags but for those
// that a process has on top.
func (f *federation) mpirun(t *testing.T, flags []string, more map[int][]string) *process {
	t.Helper()
	var args []string
	for i := range nodeNames {
		if i > 0 {
			args = append(args, ":")
		}
		args = append(args, "-np", "1", os.Args[0], "node", "--engine", "mpi", "--data", f.path("site-%d.csv"), "--model", f.path("m-site-%d.npz"),
			"--log-every", "20ms", "--join-timeout", "20s", "--workers", "1")
		args = append(append(append(args, clinicFlags...), flags...), more[i]...)
	}
	p := &process{cmd: exec.Command("mpirun", args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCommand+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGTERM); <-p.done })
	return p
}

// TestMPISameBits: four processes under mpirun come to the bits of one process, for
// several methods, codecs and ways of averaging; rank 0 reports.
func TestMPISameBits(t *testing.T) {
	for _, flags := range [][]string{
		{"--ridge", "1"}, // the default
		{"--auto", "--ridge", "1", "--rank", "2"},
		{"--method", "dif", "--agree", "plain", "--compress", "int8", "--folds", "2", "--rank", "2", "--iterations", "8"},
		{"--method", "dec", "--agree", "chebyshev", "--compress", "int4"},
		{"--method", "altgdmin", "--intercept", "0", "--ridge", "inf"},
		{"--method", "dgd", "--compress", "float32", "--mean-ridge", "3", "--step", "1e-4"},
	} {
		what := strings.Join(flags, " ")
		f := ranks(t, 4)
		p := f.mpirun(t, append(flags, "--graph", "ring"), nil)
		if code := p.code(t, time.Minute); code != 0 {
			t.Fatalf("%s: exit code %d: %s", what, code, tail(p))
		}
		if n := strings.Count(p.out.String(), "mean of the task"); n != 1 {
			t.Errorf("%s: %d reports: %s", what, n, p.out.String())
		}
		f.sameBits(t, what, f.whole(t, "ring", flags...))
	}
}

// TestMPIRefused: what one process cannot do, or would do otherwise, all say before they
// train, with its name and the documented exit code, and no model is written.
func TestMPIRefused(t *testing.T) {
	for what, x := range map[string]struct {
		flags []string
		more  map[int][]string
		code  int
		wants []string
	}{
		"other options": {nil, map[int][]string{2: {"--seed", "7"}}, exitPeer,
			[]string{`node "site-2" and this one refuse each other: --seed is 7 at node 2, but 1 here`, `node "site-0" and this one refuse each other: --seed is 1 at node 0, but 7 here`}},
		"other graph": {nil, map[int][]string{3: {"--graph", "ring"}}, exitPeer, []string{"--graph is ring at node 3, but exponential here"}},
		"no table": {nil, map[int][]string{1: {"--data", "nowhere/site-%d.csv"}}, 0,
			[]string{"nowhere/site-1.csv: no such file", `node "site-1" has failed (closed, round 0): nowhere/site-1.csv: no such file`}},
		"graph of nine":  {[]string{"--graph", "grid:3x3"}, nil, exitUsage, []string{"--graph: ", "grid"}},
		"without number": {[]string{"--model", "m.npz"}, nil, exitUsage, []string{`--model is "m.npz"`, "%d"}},
		"cluster":        {[]string{"--cluster", "c.json"}, nil, exitUsage, []string{"--cluster is for --engine grpc"}},
		"folders":        {[]string{"--data", "%d/site.csv"}, nil, exitUsage, []string{`several nodes would be called "site"`}},
	} {
		f := ranks(t, 4)
		p := f.mpirun(t, x.flags, x.more)
		code := p.code(t, 20*time.Second)
		if code == 0 || x.code > 0 && code != x.code {
			t.Errorf("%s: exit code %d, want %d", what, code, x.code)
		}
		for _, want := range x.wants {
			if !strings.Contains(p.err.String(), want) {
				t.Errorf("%s: no %q in %s", what, want, tail(p))
			}
		}
		f.clean(t, what, nil)
	}
}

// TestMPIAlone: without a launcher a node would train alone, and nobody would see that.
func TestMPIAlone(t *testing.T) {
	f := ranks(t, 4)
	cmd := exec.Command(os.Args[0], append([]string{"node", "--engine", "mpi", "--data", f.path("site-%d.csv"), "--model", f.path("m-site-%d.npz")}, clinicFlags...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	text, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(text), "mpirun -np N") {
		t.Errorf("exit code %d: %s", code, text)
	}
	f.clean(t, "alone", nil)
}

// TestMPIFaults: when a process is killed, or stopped for longer than a round, the job
// ends in the documented time, and no model is written. When all are told to end they do
// so in the same iteration, and write what they have.
func TestMPIFaults(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	long := []string{"--iterations", "10000000", "--method", "dif", "--starts", "1", "--rank", "2", "--step", "1e-5", "--ridge", "2", "--tolerance", "-1", "--round-timeout", "2s", "--agree", "plain", "--compress", "int8"}
	for what, x := range map[string]struct {
		signal syscall.Signal
		wants  []string
		within time.Duration
	}{
		"killed":  {syscall.SIGKILL, []string{"signal 9"}, 8 * time.Second},
		"stopped": {syscall.SIGSTOP, []string{`has failed (timeout, round`, "it has sent nothing for 2s"}, 15 * time.Second},
	} {
		f := ranks(t, 4)
		p := f.mpirun(t, long, nil)
		for _, name := range nodeNames {
			p.said(t, "node="+name+" stage=iterations")
		}
		victim := f.process(t, "2")
		began := time.Now()
		_ = syscall.Kill(victim, x.signal)
		code := p.code(t, 30*time.Second)
		if d := time.Since(began); code == 0 || d > x.within {
			t.Errorf("%s: exit code %d after %v", what, code, d)
		}
		for _, want := range x.wants {
			if !strings.Contains(p.err.String(), want) {
				t.Errorf("%s: no %q in %s", what, want, tail(p))
			}
		}
		if models, _ := filepath.Glob(f.path("m-*.npz")); len(models) > 0 {
			t.Errorf("%s: leaves %q", what, models)
		}
	}

	f := ranks(t, 4)
	p := f.mpirun(t, long, nil)
	for _, name := range nodeNames {
		p.said(t, "node="+name+" stage=iterations")
	}
	for i := range nodeNames {
		_ = syscall.Kill(f.process(t, fmt.Sprint(i)), syscall.SIGTERM)
	}
	// A rank that hears of another's end before its own signal says that it was interrupted.
	if code := p.code(t, 30*time.Second); code != exitTerminated && code != exitInterrupted || strings.Count(p.err.String(), "difalt: interrupted after") != 4 {
		t.Errorf("told to end: exit code %d: %s", code, tail(p))
	}
	for _, name := range nodeNames {
		load(t, f.path("m-"+name+".npz"))
	}
}

// process returns the number of the process of a rank that works in the folder.
func (f *federation) process(t *testing.T, rank string) int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		environment, err := os.ReadFile(path)
		command, err2 := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || err2 != nil || !strings.Contains(string(command), f.folder) {
			continue
		}
		for _, variable := range strings.Split(string(environment), "\x00") {
			if variable == "OMPI_COMM_WORLD_RANK="+rank {
				var pid int
				_, _ = fmt.Sscan(filepath.Base(filepath.Dir(path)), &pid)
				return pid
			}
		}
	}
	t.Fatalf("no process of rank %s", rank)
	return 0
}

// TestMPICheckpoints: a job that was ended by the loss of a process is started again by
// the same command, and goes on with the same bits.
func TestMPICheckpoints(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	f := ranks(t, 4)
	flags := []string{"--iterations", "1500", "--method", "dif", "--agree", "plain", "--compress", "int8", "--starts", "1", "--rank", "2", "--ridge", "2", "--tolerance", "-1"}
	more := []string{"--checkpoint", f.path("state"), "--every", "23"}
	p := f.mpirun(t, append(flags, append(more, "--graph", "path")...), nil)
	for i := range 4 {
		for k := 0; len(f.checkpoints(t, fmt.Sprintf("site-%d", i))) == 0; k++ {
			if time.Sleep(5 * time.Millisecond); k == 4000 {
				t.Fatalf("node %d writes no checkpoint: %s", i, tail(p))
			}
		}
	}
	_ = syscall.Kill(f.process(t, "1"), syscall.SIGKILL)
	if code := p.code(t, 20*time.Second); code == 0 {
		t.Fatal("ended before it was killed")
	}
	p = f.mpirun(t, append(flags, append(more, "--graph", "path")...), nil)
	if code := p.code(t, time.Minute); code != 0 || strings.Count(p.err.String(), "goes on from a checkpoint") != 4 {
		t.Fatalf("exit code %d: %s", code, tail(p))
	}
	f.sameBits(t, "after a loss", f.whole(t, "path", flags...))
}

// TestMPISlurm: the batch script passes its flags to as many processes as there are tasks,
// and asks for the job to be put in the queue again when it was told to end. mpirun stands
// in for srun.
func TestMPISlurm(t *testing.T) {
	script, err := filepath.Abs("../../deploy/slurm/difalt.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	f := ranks(t, 4)
	bin := t.TempDir()
	for name, text := range map[string]string{
		"srun": `#!/bin/sh
[ "$1 $2" = "--mpi=pmix --kill-on-bad-exit=1" ] || { echo "srun $*" >&2; exit 99; }
shift 2
[ -z "$STAND_IN_CODE" ] || exit "$STAND_IN_CODE"
exec mpirun -np "$SLURM_NTASKS" "$@"
`,
		"scontrol": "#!/bin/sh\necho \"scontrol $*\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := filepath.Abs(os.Args[0])
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "difalt"))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(env ...string) (string, int) {
		args := append([]string{script, "--data", f.path("site-%d.csv"), "--model", f.path("m-site-%d.npz"), "--graph", "ring", "--ridge", "1"}, clinicFlags...)
		cmd := exec.Command("bash", args...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "SLURM_NTASKS=4", "SLURM_CPUS_PER_TASK=1", "SLURM_JOB_ID=17",
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
		cmd.Env = append(cmd.Env, env...)
		text, _ := cmd.CombinedOutput()
		return string(text), cmd.ProcessState.ExitCode()
	}
	if text, code := run(); code != 0 || strings.Contains(text, "scontrol") {
		t.Fatalf("exit code %d: %s", code, text)
	}
	f.sameBits(t, "the batch script", f.whole(t, "ring", "--ridge", "1"))
	if text, code := run("STAND_IN_CODE=143"); code != 143 || !strings.Contains(text, "scontrol requeue 17") {
		t.Errorf("told to end: exit code %d: %s", code, text)
	}
	if text, code := run("STAND_IN_CODE=1"); code != 1 || strings.Contains(text, "scontrol") {
		t.Errorf("failed: exit code %d: %s", code, text)
	}
}
