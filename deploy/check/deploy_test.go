package check

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// difalt is the command, built from this checkout.
var difalt string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "difalt-deploy-")
	if err != nil {
		panic(err)
	}
	difalt = filepath.Join(folder, "difalt")
	build := exec.Command("go", "build", "-o", difalt, "./cmd/difalt")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v: %s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// run runs the command and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(difalt, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("difalt %q: %v: %s", args, err, out)
	}
	return string(out)
}

// read returns the text of a file of this checkout.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A container is a node as a manifest describes it.
type container struct {
	name   string
	args   []string
	mounts map[string]string // file or folder in the container -> on this machine
	health []string          // what asks whether it is ready, without the program
}

// here returns arguments of a container as they are on this machine.
func (c *container) here(t *testing.T, args []string) (list []string) {
	t.Helper()
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(value, "/") {
			found := ""
			for inside, outside := range c.mounts {
				if value == inside || strings.HasPrefix(value, inside+"/") {
					found = outside + strings.TrimPrefix(value, inside)
				}
			}
			if found == "" {
				t.Errorf("%s: %s is in nothing that is mounted", c.name, arg)
			}
			arg = name + "=" + found
		}
		list = append(list, arg)
	}
	return list
}

// rehearse runs the containers of a manifest as processes of this machine, on tables of
// examples/clinics.csv, until each has written its model; ports are free ones.
func rehearse(t *testing.T, cluster string, containers []*container) {
	t.Helper()
	addresses := local(t, cluster, containers)
	head, rows, _ := strings.Cut(read(t, "examples/clinics.csv"), "\n")
	var nodes []*exec.Cmd
	for i, c := range containers {
		table := head + "\n"
		for line := range strings.Lines(rows) {
			var clinic int // 1 to 40
			if _, err := fmt.Sscanf(line, "C%d,", &clinic); err != nil {
				t.Fatal(err)
			}
			if (clinic-1)*len(containers)/40 == i {
				table += line
			}
		}
		if err := os.WriteFile(filepath.Join(c.mounts["/data"], "table.csv"), []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
		args := append(c.here(t, c.args), "--listen="+addresses[i], "--stay", "--rank=2", "--iterations=3000", "--tolerance=-1")
		if strings.Contains(strings.Join(args, " "), "--metrics=") {
			args = append(args, "--metrics=127.0.0.1:0")
		}
		cmd := exec.Command(difalt, args...)
		cmd.Stderr = &strings.Builder{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		nodes = append(nodes, cmd)
	}
	ready := make([]bool, len(containers))
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		done := 0
		for i, c := range containers {
			if !ready[i] {
				health := append(c.here(t, c.health), "--address="+addresses[i])
				ready[i] = exec.Command(difalt, health...).Run() == nil
			}
			if _, err := os.Stat(filepath.Join(c.mounts["/data"], "model.npz")); err == nil {
				done++
			}
		}
		if done == len(containers) {
			break
		}
		if time.Since(began) > time.Minute {
			for i, cmd := range nodes {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				t.Errorf("%s: no model: %s", containers[i].name, cmd.Stderr)
			}
			return
		}
	}
	for i, c := range containers {
		if !ready[i] {
			t.Errorf("%s: never ready", c.name)
		}
		run(t, "model", "show", filepath.Join(c.mounts["/data"], "model.npz"))
	}
}

// local gives the nodes of cluster.json addresses of this machine, and checks that they
// are the containers.
func local(t *testing.T, path string, containers []*container) (addresses []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	nodes := c["nodes"].([]any)
	if len(nodes) != len(containers) {
		t.Fatalf("%d nodes, but %d containers", len(nodes), len(containers))
	}
	for i := range nodes {
		node := nodes[i].(map[string]any)
		if node["name"] != containers[i].name {
			t.Errorf("container %s, but node %v", containers[i].name, node["name"])
		}
		addresses = append(addresses, freeAddress(t))
		node["address"] = addresses[i]
	}
	if text, err = json.Marshal(c); err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return addresses
}

// TestCommands: every command in the comments of deploy, in the Dockerfile and in the
// document has flags that exist, with values that they take.
func TestCommands(t *testing.T) {
	seen := 0
	for _, path := range []string{"deploy/compose.yaml", "deploy/kubernetes/kustomization.yaml", "deploy/slurm/difalt.sbatch", "docs/network.md"} {
		text := strings.ReplaceAll(read(t, path), "\\\n", " ")
		for _, line := range regexp.MustCompile(`(?m)^(?:#\t|    )[^#\n]*?((?:difalt|sbatch) .*)$`).FindAllStringSubmatch(text, -1) {
			args := words(line[1])
			if args[0] == "sbatch" {
				for len(args) > 0 && !strings.HasSuffix(args[0], ".sbatch") {
					args = args[1:]
				}
				args = append([]string{"difalt", "node", "--engine", "mpi"}, args[1:]...)
			}
			for k, arg := range args {
				if arg == "&" || arg == ";" || strings.HasPrefix(arg, ">") {
					args = args[:k]
					break
				}
			}
			if args[0] != "difalt" || len(args) < 2 || strings.HasPrefix(args[1], ".") {
				continue // docker build -t difalt .
			}
			seen++
			if out, err := exec.Command(difalt, append(args[1:], "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: %q: %s", path, args, out)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands", seen)
	}
	docker := read(t, "Dockerfile")
	for _, what := range []string{`HEALTHCHECK [^\[]*CMD `, "CMD "} {
		m := regexp.MustCompile(`(?m)^` + what + `(\[.*\])$`).FindStringSubmatch(docker)
		if m == nil {
			t.Fatalf("Dockerfile has no %s", what)
		}
		var args []string
		if err := json.Unmarshal([]byte(m[1]), &args); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(what, "HEALTHCHECK") {
			if args[0] != "/usr/local/bin/difalt" || !strings.Contains(docker, "-o /image/usr/local/bin/difalt ") {
				t.Errorf("Dockerfile: no program %s", args[0])
			}
			args = args[1:]
		}
		run(t, append(args, "--help")...)
	}
}

// words splits a line as a shell does that has only spaces and single quotes.
func words(line string) (list []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|\S+`).FindAllStringSubmatch(line, -1) {
		list = append(list, strings.ReplaceAll(m[0], "'", ""))
	}
	return list
}
