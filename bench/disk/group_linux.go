package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const groups = "/sys/fs/cgroup"

// newGroup makes a control group with a limit of memory, beside or below that of this
// process, and returns its folder.
func newGroup(limit int64) (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("control groups are for Linux: %w", err)
	}
	var parent, file string
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case strings.Contains(","+parts[1]+",", ",memory,"): // version 1
			parent, file = filepath.Join(groups, "memory", parts[2]), "memory.limit_in_bytes"
		case parts[1] == "" && parent == "": // version 2, where processes are in leaves only
			parent, file = filepath.Join(groups, filepath.Dir(parts[2])), "memory.max"
		}
	}
	group := filepath.Join(parent, "difalt-bench-"+strconv.Itoa(os.Getpid()))
	err = os.Mkdir(group, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(limit, 10)), 0)
	}
	if err != nil {
		os.Remove(group)
		return "", fmt.Errorf("a control group with a limit of memory needs root: %w", err)
	}
	if file == "memory.max" { // what is not on disk must be in memory
		err = os.WriteFile(filepath.Join(group, "memory.swap.max"), []byte("0"), 0)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return group, err
}

// enter moves this process into a control group, if one is named.
func enter(group string) error {
	if group == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
}

// processor returns the processor time of this process and of the system for it.
func processor() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// number returns a number of a file of lines such as "VmHWM: 12 kB", 0 if it has none.
func number(file, key string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == key {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}
