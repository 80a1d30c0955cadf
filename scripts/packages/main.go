// The packages command builds what a release consists of, from the sources of a clone and with Go alone: an
// archive for every system, with licences, manual pages and completions; an image for two architectures;
// lists of contents; and the provenance, checksums and signature of all of them. It needs no network if the
// modules are there.
//
//	go run ./scripts/packages -version v1.2.3 -out dist -sign key.pem
//
// Equal sources and an equal Go give equal bytes, but for the signature. openssl checks it:
//
//	openssl pkeyutl -verify -pubin -inkey key.pub -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Systems for which a release has binaries, and architectures of its image, which runs on Linux.
const (
	releaseSystems = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,freebsd/amd64"
	imageSystem    = "linux"
)

// Files and folders of the sources that are in every archive: the licence and all pages that README.md links.
var (
	sharedFiles = []string{
		"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "BENCHMARKS.md", "CONTRIBUTING.md",
	}
	sharedFolders = []string{"docs", "examples"}
)

// A release is a version of the program with what its packages have in common.
type release struct {
	version string // v1.2.3
	out     string // the folder of the packages
	work    string // a temporary folder
	commit  string
	builtBy string    // the version of Go that the binaries name
	time    time.Time // of the commit: of all files in packages
	shared  []file    // in every archive
	names   []string  // of the packages, in the order of writing
}

func main() {
	version := flag.String("version", "", "version of the release, v1.2.3 (required)")
	out := flag.String("out", "dist", "new or empty folder for the packages")
	systems := flag.String("systems", releaseSystems, "systems of the archives, and of the image those of Linux")
	key := flag.String("sign", "", "file with a private key for Ed25519 (PEM), as of openssl genpkey "+
		"-algorithm ed25519")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(ctx, *version, *out, strings.Split(*systems, ","), *key); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// run makes the packages of a version for some systems in the folder out, which must not have files already.
func run(ctx context.Context, version, out string, systems []string, keyFile string) error {
	sign, err := readKey(keyFile)
	if err != nil {
		return err
	}
	if old, _ := os.ReadDir(out); len(old) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or give another folder by -out", out)
	}
	if err := committed(ctx, "."); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "packages")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{version: version, out: out, work: work}
	if err := r.begin(ctx); err != nil {
		return err
	}
	var layers []*layer
	for _, system := range systems {
		goos, arch, ok := strings.Cut(system, "/")
		if !ok {
			return fmt.Errorf("system %q: must be such as linux/amd64", system)
		}
		binary, err := r.build(ctx, goos, arch)
		if err != nil {
			return err
		}
		if err := r.archive(goos, arch, binary); err != nil {
			return err
		}
		if goos == imageSystem {
			layers = append(layers, &layer{arch: arch, binary: binary})
		}
	}
	if layers != nil {
		if err := r.image(layers); err != nil {
			return err
		}
	}
	if err := r.provenance(systems, os.Getenv); err != nil {
		return err
	}
	if err := r.sums(sign); err != nil {
		return err
	}
	fmt.Printf("%d files in %s\n", len(r.names), r.out)
	if sign == nil {
		fmt.Println("note: SHA256SUMS is not signed; -sign KEY signs it")
	}
	return nil
}

// committed returns an error if tracked files of a clone differ from its commit, which the provenance names
// as their source.
func committed(ctx context.Context, clone string) error {
	changes, err := output(ctx, clone, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("commit or drop the changes of these files first:\n%s", changes)
	}
	return nil
}

// begin finds commit and time, and collects the files that all archives share.
func (r *release) begin(ctx context.Context) error {
	text, err := output(ctx, ".", nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(text), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("git log: %q is not a commit and its time", text)
	}
	r.commit, r.time = commit, time.Unix(at, 0).UTC()
	licences, share := filepath.Join(r.work, "licences"), filepath.Join(r.work, "share")
	if _, err := output(ctx, ".", nil, "./scripts/licences.sh", licences); err != nil {
		return err
	}
	if _, err := output(ctx, ".", nil, goCommand(), "run", "-tags", "grpcnotrace", "./cmd/difalt", "generate",
		"--out", share); err != nil {
		return err
	}
	for _, name := range sharedFiles {
		if err := r.share(name, name); err != nil {
			return err
		}
	}
	folders := map[string]string{licences: "licences", share: "share"}
	for _, name := range sharedFolders {
		folders[name] = name
	}
	for from, to := range folders {
		err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			return r.share(path, to+"/"+filepath.ToSlash(name))
		})
		if err != nil {
			return err
		}
	}
	sortFiles(r.shared)
	return nil
}

// share adds a file to all archives.
func (r *release) share(path, name string) error {
	content, err := os.ReadFile(path)
	r.shared = append(r.shared, file{name: name, content: content, mode: 0o644})
	return err
}

// build returns the binary of the program for a system.
func (r *release) build(ctx context.Context, goos, arch string) ([]byte, error) {
	path := filepath.Join(r.work, goos+"-"+arch)
	stamp := "-s -w -X github.com/difalt/difalt/cmd/difalt/internal/cli.stamped=" + r.version
	system := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch}
	_, err := output(ctx, "cmd/difalt", system, goCommand(), "build", "-trimpath", "-buildvcs=false",
		"-tags", "grpcnotrace", "-ldflags", stamp, "-o", path, ".")
	if err != nil {
		return nil, err
	}
	fmt.Println("built", goos+"/"+arch)
	return os.ReadFile(path)
}

// write writes a package, and remembers its name.
func (r *release) write(name string, content []byte) error {
	r.names = append(r.names, name)
	return os.WriteFile(filepath.Join(r.out, name), content, 0o666)
}

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// goCommand is the go command of GO, as in the Makefile.
func goCommand() string { return cmp.Or(os.Getenv("GO"), "go") }

// output runs a program in a folder with variables on top of the environment, and returns what it prints. The
// error has what it prints as an error.
func output(ctx context.Context, folder string, variables []string, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = folder, append(os.Environ(), variables...)
	var messages bytes.Buffer
	c.Stderr = &messages
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, messages.Bytes())
	}
	return string(text), nil
}
