package memory

import (
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// machine returns the least of what the system has left, what the control groups of
// this process leave, and what its limits of addresses and of data leave, and which of them
// it is, in words. Only Linux tells.
func machine() (bytes float64, of string, known bool) {
	least := func(n float64, whose string) {
		if !known || n < bytes {
			bytes, of, known = max(n, 0), whose, true
		}
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, "", false
	}
	if m, err := fs.Meminfo(); err == nil && m.MemAvailableBytes != nil {
		least(float64(*m.MemAvailableBytes), "")
	}
	self, err := fs.Self()
	if err != nil {
		return bytes, of, known
	}
	groups, _ := self.Cgroups()
	for _, g := range groups {
		var left float64
		var limited bool
		switch {
		case g.Controllers == nil: // version 2
			left, limited = group("/sys/fs/cgroup", g.Path, "memory.max", "memory.current", "inactive_file", "active_file")
		case slices.Contains(g.Controllers, "memory"):
			left, limited = group("/sys/fs/cgroup/memory", g.Path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file")
		}
		if limited {
			least(left, " in its control group")
		}
	}
	if status, err := self.NewStatus(); err == nil {
		addresses, data := limits()
		least(addresses-max(float64(status.VmSize), own), " below ulimit -v, of which the program itself takes "+Size(own))
		least(data-float64(status.VmData), " below ulimit -d")
	}
	return bytes, of, known
}

// limits returns the limits of addresses and of data of this process, about 1.8e19 where there are none.
func limits() (addresses, data float64) {
	if self, err := procfs.Self(); err == nil {
		if l, err := self.Limits(); err == nil {
			return float64(l.AddressSpace), float64(l.DataSize)
		}
	}
	return math.MaxUint64, math.MaxUint64
}

// group returns what a control group and those above it leave, of which a container
// shows at least its own at the root. Pages of files make room for whoever asks: what else
// is used counts.
func group(root, name, limitFile, usedFile string, files ...string) (bytes float64, known bool) {
	for dir := path.Join(root, name); len(dir) >= len(root); dir = path.Dir(dir) {
		limit, limited := number(path.Join(dir, limitFile))
		used, ok := number(path.Join(dir, usedFile))
		stat, _ := os.ReadFile(path.Join(dir, "memory.stat"))
		for line := range strings.Lines(string(stat)) {
			if words := strings.Fields(line); len(words) == 2 && slices.Contains(files, words[0]) {
				pages, _ := strconv.ParseFloat(words[1], 64)
				used -= pages
			}
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
