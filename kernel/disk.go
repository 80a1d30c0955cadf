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

// window is how many bytes of samples the system reads ahead at a time: one window while
// the one before it is computed with. Larger ones push each other out where
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

// ahead has the system read samples on disk before they are needed, for a caller that goes
// through the tasks in order and has come to this one: one window more than it lies in.
func (t *Tasks) ahead(task int) {
	if t.disk == nil || t.rows[task] == 0 {
		return
	}
	row := t.stride * t.storage.size()
	lo, done := t.first[task]*row, 0
	if lo > 0 {
		done = (lo-1)/window + 2 // by the tasks before
	}
	if hi := (lo+t.rows[task]*row-1)/window + 2; done < hi {
		t.disk.file.Ahead(done*window, hi*window)
	}
}

// keep is called behind the last use of the samples: on disk, nothing else keeps their
// memory from being released before.
func (t *Tasks) keep() { runtime.KeepAlive(t) }
