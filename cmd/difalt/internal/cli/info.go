package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/difalt/difalt/kernel"
	"github.com/spf13/cobra"
)

const (
	infoHelp = `Show versions, the processor, and the kernel that was chosen for it. The
environment variable DIFALT_KERNEL forces another kernel.`
	infoExamples = `  difalt info
  DIFALT_KERNEL=generic difalt info`
)

// NewInfo returns the command info.
func NewInfo(std *Streams) *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Show versions, processor and the kernel in use", Long: infoHelp, Example: infoExamples,
		RunE: func(*cobra.Command, []string) error { return runInfo(std) },
	}
}

// runInfo prints the versions and the kernel.
func runInfo(std *Streams) error {
	k := kernel.Describe()
	report := &infoReport{
		Header: NewHeader("info"), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		CPU: cmp.Or(k.CPU, "unknown "+runtime.GOARCH), Kernel: k.Kernel, Available: k.Available, Build: k.Build,
		Workers: runtime.GOMAXPROCS(0),
	}
	return std.Report(report, report.text)
}

// An infoReport is the report of info.
type infoReport struct {
	Header
	Go        string   `json:"go"`
	CPU       string   `json:"cpu"`
	Kernel    string   `json:"kernel"`
	Available []string `json:"available"` // kernels that the processor can run
	Build     string   `json:"build"`
	Workers   int      `json:"workers"`
}

// text writes the report in words.
func (r *infoReport) text(w io.Writer) {
	for _, fact := range [][2]string{
		{"difalt", r.Version}, {"go", r.Go}, {"cpu", r.CPU}, {"kernel", r.Kernel},
		{"available", strings.Join(r.Available, " ")},
		{"build", r.Build}, {"workers", strconv.Itoa(r.Workers)},
	} {
		fmt.Fprintf(w, "%-10s %s\n", fact[0], fact[1])
	}
}

// Machine describes the processor and the versions in one line.
func Machine() string {
	k := kernel.Describe()
	return fmt.Sprintf("%s, kernel %s, %s %s/%s, difalt %s", cmp.Or(k.CPU, "unknown processor"), k.Kernel,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, Version())
}

// stamped is the version of a build from sources without .git, such as the build of an image: -ldflags "-X
// github.com/difalt/difalt/cmd/difalt/internal/cli.stamped=v1.2.3".
var stamped string

// Version returns the version of the module that contains the program.
func Version() string {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
	}
	return cmp.Or(stamped, built, "(devel)")
}
