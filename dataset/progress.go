package dataset

import (
	"io"
	"os"
)

// A readSoFar counts the bytes of files of a known size that have been read.
type readSoFar struct {
	tell         func(done, total int64) // nil if nobody asks
	before, size int64                   // bytes of the files before, and of all
	read         int64                   // of the current file
}

// newReadSoFar starts counting for some files; those that are no regular files have no size.
func newReadSoFar(tell func(done, total int64), paths []string) readSoFar {
	p := readSoFar{tell: tell}
	for _, path := range paths {
		if info, err := os.Stat(path); tell != nil && err == nil && info.Mode().IsRegular() {
			p.size += info.Size()
		}
	}
	return p
}

// to tells that so many bytes of the current file have been read.
func (p *readSoFar) to(read int64) {
	p.read = read
	if p.tell != nil {
		p.tell(p.before+read, p.size)
	}
}

// next begins the next file.
func (p *readSoFar) next() { p.before, p.read = p.before+p.read, 0 }

// A countedReader counts what is read through it.
type countedReader struct {
	in io.Reader
	to *readSoFar
}

func (c countedReader) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.to.to(c.to.read + int64(n))
	return n, err
}
