//go:build linux

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/difalt/difalt/kernel"
	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"
)

// A machine is the experiment details of a result. Fields that the system does not
// tell are empty.
type machine struct {
	Name     string `json:"name"` // of the result's file
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"` // that this process may use
	Caches   string `json:"caches"`
	Memory   string `json:"memory"`
	System   string `json:"system"`
	HugePage string `json:"huge_pages"`
	Kernel   string `json:"kernel"` // of difalt
	Commit   string `json:"commit"` // the last one that changed the kernel
	Go       string `json:"go"`
	Compiler string `json:"compiler"`           // of the peers in C and C++
	OpenBLAS string `json:"openblas,omitempty"` // variables that change its code or its blocks
	Date     string `json:"date"`
}

// thisMachine describes the machine that it runs on.
func thisMachine() machine {
	info := kernel.Describe()
	m := machine{
		CPU:      info.CPU,
		Cores:    runtime.GOMAXPROCS(0),
		Caches:   caches(),
		System:   system(),
		HugePage: match(`\[(\w+)\]`, "/sys/kernel/mm/transparent_hugepage/enabled"), // the setting in brackets
		Kernel:   fmt.Sprintf("%s (build %s)", info.Kernel, info.Build),
		Commit:   firstLine("git", "log", "-1", "--format=%h", "--", ":/kernel"),
		Go:       runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Compiler: firstLine("gcc", "--version"),
		OpenBLAS: strings.Join(variables("OPENBLAS_"), " "),
		Date:     time.Now().UTC().Format(time.DateOnly),
	}
	if kib, err := strconv.Atoi(match(`MemTotal:\s+(\d+)`, "/proc/meminfo")); err == nil {
		m.Memory = fmt.Sprintf("%d GiB", (kib+1<<19)>>20)
	}
	m.Name = m.autoName()
	return m
}

// autoName returns a name that tells processors apart which call themselves alike: "AMD EPYC" is each of
// several generations. They differ in the kernel that difalt takes, or in the first two caches of a core.
func (m *machine) autoName() string {
	tier, _, _ := strings.Cut(m.Kernel, " ")
	own, _, _ := strings.Cut(m.Caches, ", L3") // a virtual machine has any part of the third one
	name := strings.ToLower(fmt.Sprintf("%s %s %s %dcpu", m.CPU, tier, own, m.Cores))
	name = regexp.MustCompile(`\([^)]*\)|[^a-z0-9]+`).ReplaceAllString(name, "-")
	return strings.Trim(regexp.MustCompile(`-+`).ReplaceAllString(name, "-"), "-")
}

// TestNames: stored results have the names that follow from their machines, and machines that differ in the
// processor alone have different names.
func TestNames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "results", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d results, error %v", len(files), err)
	}
	for _, file := range files {
		r, err := loadResult(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := r.Machine.autoName(); r.Machine.Name != name || filepath.Base(file) != name+".json" {
			t.Errorf("%s has the name %s, want %s", file, r.Machine.Name, name)
		}
	}
	seen := make(map[string]machine)
	for _, m := range []machine{ // Zen 3, 4 and 5, and a Zen 5 without AVX-512
		{CPU: "AMD EPYC", Cores: 2, Kernel: "avx2 (build default)", Caches: "L1d 32K, L2 512K, L3 32768K"},
		{CPU: "AMD EPYC", Cores: 2, Kernel: "avx512 (build default)", Caches: "L1d 32K, L2 1024K, L3 32768K"},
		{CPU: "AMD EPYC", Cores: 2, Kernel: "avx512 (build default)", Caches: "L1d 48K, L2 1024K, L3 32768K"},
		{CPU: "AMD EPYC", Cores: 2, Kernel: "avx2 (build default)", Caches: "L1d 48K, L2 1024K, L3 32768K"},
	} {
		name := m.autoName()
		if other, ok := seen[name]; ok {
			t.Errorf("%+v and %+v are both %s", m, other, name)
		}
		seen[name] = m
	}
}

// variables returns the variables of the environment whose names begin with a prefix, as NAME=VALUE, sorted.
func variables(prefix string) []string {
	list := slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, prefix) })
	slices.Sort(list)
	return list
}

func TestVariables(t *testing.T) {
	t.Setenv("DIFALT_TEST_B", "2")
	t.Setenv("DIFALT_TEST_A", "1")
	if got := variables("DIFALT_TEST_"); !slices.Equal(got, []string{"DIFALT_TEST_A=1", "DIFALT_TEST_B=2"}) {
		t.Errorf("variables: %q", got)
	}
}

// caches lists the caches of a processor: "L1d 48K, L2 2048K, ...".
func caches() string {
	c := cpuid.CPU.Cache
	return fmt.Sprintf("L1d %dK, L2 %dK, L3 %dK", c.L1D>>10, c.L2>>10, c.L3>>10)
}

func system() string {
	// The version alone: what follows it is the builder's.
	release := regexp.MustCompile(`^[0-9.]+`).FindString(firstLine("uname", "-r"))
	s := strings.TrimSpace(firstLine("uname", "-s") + " " + release)
	if name := match(`PRETTY_NAME="(.*)"`, "/etc/os-release"); name != "" {
		s = name + ", " + s
	}
	return s
}

// match returns what the group of a pattern matches in a file, empty if nothing does.
func match(pattern, file string) string {
	return append(regexp.MustCompile(pattern).FindStringSubmatch(readFile(file)), "", "")[1]
}

// firstLine returns the first line that a command prints, empty if it fails.
func firstLine(command string, args ...string) string {
	out, err := exec.Command(command, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// readFile returns the text of a file, empty if it cannot be read.
func readFile(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// pinning returns the command that holds what follows it to so many processors of
// different cores, nil where that cannot be done. The last ones are taken, since
// systems handle interrupts on the first.
func pinning(threads int) []string {
	if _, err := exec.LookPath("taskset"); err != nil {
		return nil
	}
	cpus := cores()
	if len(cpus) < threads {
		return nil
	}
	var list []string
	for _, cpu := range cpus[len(cpus)-threads:] {
		list = append(list, strconv.Itoa(cpu))
	}
	return []string{"taskset", "--cpu-list", strings.Join(list, ",")}
}

// cores returns one processor of every core that this process may use.
func cores() (cpus []int) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	seen := make(map[string]bool)
	for cpu := range 8 * len(allowed) * int(unsafe.Sizeof(allowed[0])) {
		if !allowed.IsSet(cpu) {
			continue
		}
		siblings := readFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		if siblings == "" || !seen[siblings] {
			cpus = append(cpus, cpu)
		}
		seen[siblings] = true
	}
	return cpus
}

// A result is what was measured on one machine, as it is stored in
// bench/results/NAME.json and reported in BENCHMARKS.md.
type result struct {
	Machine machine      `json:"machine"`
	Peers   []comparison `json:"peers"`
}

// A comparison is one interleaved run of all peers on a shape.
type comparison struct {
	Shape   string     `json:"shape"`
	Threads int        `json:"threads"`
	ReadMS  float64    `json:"read_ms"` // streaming read of X
	FMAMS   float64    `json:"fma_ms"`  // the arithmetic at the peak of multiply-adds
	Peers   []peerTime `json:"peers"`
}

// roofMS is the roofline: the longer of the two times below which no peer can come.
func (c comparison) roofMS() float64 { return max(c.ReadMS, c.FMAMS) }

// A peerTime is the time of one peer. Ratio is to the default build of difalt in
// the same turns. If Absent is not empty the peer was not measured, and why.
type peerTime struct {
	Name    string  `json:"name"`
	Version string  `json:"version,omitempty"`
	MS      float64 `json:"ms,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	Absent  string  `json:"absent,omitempty"`
}

// peer returns the time of a peer, zero if the comparison does not have it.
func (c comparison) peer(name string) peerTime {
	for _, p := range c.Peers {
		if p.Name == name {
			return p
		}
	}
	return peerTime{}
}

// loadResult reads a stored result; a file that does not exist is an empty one.
func loadResult(path string) (*result, error) {
	var r result
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return &r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// update stores a comparison in a folder, in place of that of the same shape and threads on
// this machine, and returns the file. The machine's name is made up if it is "auto".
func update(folder, name string, c comparison) (path string, err error) {
	machine := thisMachine()
	if name != "auto" {
		machine.Name = name
	}
	path = filepath.Join(folder, machine.Name+".json")
	r, err := loadResult(path)
	if err != nil {
		return path, err
	}
	r.Machine = machine
	same := func(o comparison) bool { return o.Shape == c.Shape && o.Threads == c.Threads }
	if i := slices.IndexFunc(r.Peers, same); i >= 0 {
		r.Peers[i] = c
	} else {
		r.Peers = append(r.Peers, c)
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return path, err
	}
	return path, os.WriteFile(path, append(data, '\n'), 0o644)
}

// TestUpdate stores twice: the second time replaces what it measured, and nothing else.
func TestUpdate(t *testing.T) {
	folder := t.TempDir()
	store := func(c comparison) string {
		path, err := update(folder, "box", c)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	store(comparison{Shape: "a", Threads: 1, ReadMS: 1})
	store(comparison{Shape: "a", Threads: 2, ReadMS: 2})
	want := []comparison{{Shape: "a", Threads: 1, ReadMS: 3, Peers: []peerTime{{Name: "p", Absent: "why"}}},
		{Shape: "a", Threads: 2, ReadMS: 2}}
	r, err := loadResult(store(want[0]))
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine.Name != "box" || r.Machine.Cores < 1 || !reflect.DeepEqual(r.Peers, want) {
		t.Errorf("read %+v, want a machine named box and %+v", r, want)
	}
	if err := os.WriteFile(filepath.Join(folder, "bad.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := update(folder, "bad", comparison{}); err == nil || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("a damaged file: error %v, want one that names it", err)
	}
}
