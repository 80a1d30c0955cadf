package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/buildinfo"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// A file is a file in an archive. A folder has a name that ends in a slash.
type file struct {
	name    string
	content []byte
	mode    int64 // permissions
}

func sortFiles(files []file) {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// archive writes the archive of a binary: a zip file for Windows, else a compressed tar file.
func (r *release) archive(goos, arch string, binary []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("%s/%s: %w", goos, arch, err)
	}
	if r.builtBy != "" && r.builtBy != info.GoVersion {
		return fmt.Errorf("%s/%s: was built by %s, and the binary before it by %s",
			goos, arch, info.GoVersion, r.builtBy)
	}
	r.builtBy = info.GoVersion
	name := fmt.Sprintf("difalt_%s_%s_%s", r.number(), goos, arch)
	program, format, suffix := "difalt", tarGz, ".tar.gz"
	if goos == "windows" {
		program, format, suffix = "difalt.exe", zipped, ".zip"
	}
	files := append([]file{{name: program, content: binary, mode: 0o755}}, r.shared...)
	content, err := format(files, r.time)
	if err != nil {
		return err
	}
	if err := r.write(name+suffix, content); err != nil {
		return err
	}
	bill, err := contents(info, r.version)
	if err != nil {
		return err
	}
	return r.write(name+".cdx.json", bill)
}

// tarGz returns files as a tar file that gzip has compressed.
func tarGz(files []file, at time.Time) ([]byte, error) {
	plain, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	return gzipped(plain)
}

// gzipped compresses without a name and a time.
func gzipped(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}

// tarred returns files as a tar file. They belong to root.
func tarred(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Typeflag: tar.TypeReg}
		if path.Clean(f.name)+"/" == f.name {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := t.Close()
	return out.Bytes(), err
}

// zipped returns files as a zip file.
func zipped(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(f.content)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
