package measure

import (
	"fmt"
	"os"
	"strings"
)

// Stolen starts to count and returns a function that tells the share of the time since
// then in which a program wanted a processor of this virtual machine and the host gave
// it to somebody else, false where the system does not tell. Where that is more than a
// few hundredths, numbers vary by as much, and those of several workers by more.
func Stolen() func() (share float64, ok bool) {
	before := processorStat()
	return func() (float64, bool) { return stolenShare(before, processorStat()) }
}

// processorStat returns the text of /proc/stat, empty where there is none.
func processorStat() string {
	text, _ := os.ReadFile("/proc/stat")
	return string(text)
}

// stolenShare returns the share between two texts of /proc/stat.
func stolenShare(before, after string) (float64, bool) {
	s0, w0, ok0 := processorTimes(before)
	s1, w1, ok1 := processorTimes(after)
	if !ok0 || !ok1 || w1 <= w0 {
		return 0, false
	}
	return float64(s1-s0) / float64(w1-w0), true
}

// processorTimes returns from the text of /proc/stat how long programs waited for
// processors that the host had given away, and how long they ran or waited so.
func processorTimes(stat string) (stolen, wanted uint64, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	var user, nice, system, idle, iowait, irq, softirq uint64
	n, _ := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &stolen)
	return stolen, user + nice + system + irq + softirq + stolen, n == 8
}
