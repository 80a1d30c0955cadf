// Command loading loads a table, packs it and reports the speed and the memory, to be
// compared with the readers of NumPy, pandas and Arrow (peers.py) on the same file.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/kernel"
)

func main() {
	log.SetFlags(0)
	task := flag.String("task", "task", "`COLUMN` of tasks")
	target := flag.String("target", "y", "`COLUMN` of targets")
	single := flag.Bool("float32", false, "keep features as float32")
	pack := flag.Bool("pack", false, "pack the tasks, and give the table's memory back")
	cpuprofile := flag.Bool("once", true, "")
	_ = cpuprofile
	flag.Parse()
	path := flag.Arg(0)
	info, err := os.Stat(path)
	if err != nil {
		log.Fatal(err)
	}
	o := dataset.TableOptions{Task: *task, Target: *target}
	if *single {
		o.Storage = kernel.Float32
	}
	start := time.Now()
	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	t, err := dataset.ReadCSV(f, o)
	if err != nil {
		log.Fatal(err)
	}
	s := time.Since(start).Seconds()
	fmt.Printf("difalt: %.2f s, %.0f MB/s\n", s, float64(info.Size())/1e6/s)
	_ = pack
	_ = t
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmHWM") || strings.HasPrefix(l, "VmRSS") {
			fmt.Println(l)
		}
	}
	runtime.KeepAlive(t)
}
