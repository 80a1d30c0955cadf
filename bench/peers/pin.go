//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
func cores() []int {
	allowed := match(`(?m)^Cpus_allowed_list:\s*(\S+)$`, "/proc/self/status")
	if allowed == "" {
		return nil
	}
	var cpus []int
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(allowed, ",") {
		var lo, hi int
		if n, _ := fmt.Sscanf(part, "%d-%d", &lo, &hi); n == 1 {
			hi = lo
		}
		for cpu := lo; cpu <= hi; cpu++ {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology", cpu)
			siblings, err := os.ReadFile(filepath.Join(dir, "thread_siblings_list"))
			if err == nil && seen[string(siblings)] {
				continue
			}
			seen[string(siblings)] = true
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return cpus
}
