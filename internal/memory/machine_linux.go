package memory

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// machine returns the least of what the system has left, what the control groups of
// this process leave, and what its limits of addresses and of data leave, and which of them
// it is, in words.
func machine() (bytes float64, of string, known bool) {
	least := func(whose string, n float64, ok bool) {
		if ok && !math.IsInf(n, 1) && (!known || n < bytes) {
			bytes, of, known = max(n, 0), whose, true
		}
	}
	free, ok := field("/proc/meminfo", "MemAvailable:", 1024)
	least("", free, ok)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		const of = " in its control group"
		switch {
		case len(parts) < 3:
		case parts[1] == "": // version 2
			left, ok := group("/sys/fs/cgroup", parts[2], "memory.max", "memory.current", "inactive_file", "active_file")
			least(of, left, ok)
		case strings.Contains(","+parts[1]+",", ",memory,"):
			left, ok := group("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file")
			least(of, left, ok)
		}
	}
	size, ok := field("/proc/self/status", "VmSize:", 1024)
	least(" below ulimit -v, of which the program itself takes "+Size(own), addresses()-max(size, own), ok)
	data, ok := field("/proc/self/status", "VmData:", 1024)
	least(" below ulimit -d", limit(syscall.RLIMIT_DATA)-data, ok)
	return bytes, of, known
}

// addresses returns the limit of addresses.
func addresses() float64 { return limit(syscall.RLIMIT_AS) }

// limit returns a limit of this process, infinity if there is none.
func limit(resource int) float64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(resource, &l) != nil || l.Cur >= 1<<62 {
		return math.Inf(1)
	}
	return float64(l.Cur)
}

// field returns the number after a key of a file of lines such as "MemAvailable: 12 kB".
func field(file, key string, unit float64) (value float64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) > 1 && words[0] == key {
			n, err := strconv.ParseFloat(words[1], 64)
			return n * unit, err == nil
		}
	}
	return 0, false
}

// group returns what a control group and those above it leave, of which a container
// shows at least its own at the root. Pages of files make room for whoever asks: what else
// is used counts.
func group(root, name, limitFile, usedFile string, files ...string) (bytes float64, known bool) {
	for dir := path.Join(root, name); len(dir) >= len(root); dir = path.Dir(dir) {
		limit, limited := number(path.Join(dir, limitFile))
		used, ok := number(path.Join(dir, usedFile))
		for _, key := range files {
			pages, _ := field(path.Join(dir, "memory.stat"), key, 1)
			used -= pages
		}
		if limited && ok && limit < 1<<60 && (!known || limit-used < bytes) {
			bytes, known = limit-used, true
		}
	}
	return bytes, known
}

// number returns the number that a file holds; "max" is none.
func number(file string) (float64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n, err == nil
}
