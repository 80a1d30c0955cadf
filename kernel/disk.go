package kernel

import (
	"runtime"

	"github.com/difalt/difalt/internal/scratch"
)

// A disk is where the samples of tasks are that NewBuilderOnDisk has built.
type disk struct {
	file   *scratch.File
	folder string
}

// window is how many bytes of samples are asked for at a time. The system reads one of
// them while the one before it is computed with. Larger ones push each other out where
// there is little memory, and take more of the system's time.
const window = 2 << 20

// Folder returns the folder where the samples lie in a file, empty for samples in memory.
func (t *Tasks) Folder() string {
	if t.disk == nil {
		return ""
	}
	return t.disk.folder
}

// seal ends the building.
func (t *Tasks) seal() {
	if t.disk != nil {
		t.disk.file.Seal()
	}
}

// ahead asks for samples on disk before they are needed, given that somebody goes through
// the tasks in order and is at this one: for one window more than it reaches into.
func (t *Tasks) ahead(task int) {
	if t.disk == nil || t.rows[task] == 0 {
		return
	}
	row := t.stride * t.storage.size()
	lo, asked := t.first[task]*row, 0
	if lo > 0 {
		asked = (lo-1)/window + 2 // by the tasks before
	}
	if hi := (lo+t.rows[task]*row-1)/window + 2; asked < hi {
		t.disk.file.Ahead(asked*window, hi*window)
	}
}

// keep holds the samples until it is called: nothing else does, where they are on disk.
func (t *Tasks) keep() { runtime.KeepAlive(t) }
