package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// small returns a release with two shared files, into a new folder.
func small(t *testing.T) *release {
	t.Helper()
	return &release{
		version: "v1.2.3", out: t.TempDir(), commit: strings.Repeat("ab", 20), builtBy: runtime.Version(),
		time:   time.Unix(1_700_000_000, 0).UTC(),
		shared: []file{{"LICENSE", []byte("terms"), 0o644}, {"licences/go/LICENSE", []byte("of Go"), 0o644}},
	}
}

// self is this test program: a binary of Go with modules.
func self(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// untar returns the contents of a tar file by name, and the permissions and times.
func untar(t *testing.T, r io.Reader) (contents map[string][]byte, headers map[string]*tar.Header) {
	t.Helper()
	contents, headers = map[string][]byte{}, map[string]*tar.Header{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return contents, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		contents[h.Name], headers[h.Name] = content, h
	}
}

// unzip decompresses.
func unzip(t *testing.T, packed []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Archives have the program, executable, with the licences; two runs give equal bytes.
func TestArchive(t *testing.T) {
	binary := self(t)
	r, again := small(t), small(t)
	for _, one := range []*release{r, again} {
		for _, system := range []string{"linux", "windows"} {
			if err := one.archive(system, "amd64", binary); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range r.names {
		first, err1 := os.ReadFile(filepath.Join(r.out, name))
		second, err2 := os.ReadFile(filepath.Join(again.out, name))
		if err1 != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs between two runs: %v, %v", name, err1, err2)
		}
	}
	packed, err := os.ReadFile(filepath.Join(r.out, "difalt_1.2.3_linux_amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	contents, headers := untar(t, unzip(t, packed))
	if !bytes.Equal(contents["difalt"], binary) || headers["difalt"].Mode != 0o755 ||
		string(contents["LICENSE"]) != "terms" {
		t.Errorf("the archive has %d files, and the program the mode %o", len(contents), headers["difalt"].Mode)
	}
	if !headers["difalt"].ModTime.Equal(r.time) {
		t.Errorf("the program is of %v, not of the commit", headers["difalt"].ModTime)
	}
	z, err := zip.OpenReader(filepath.Join(r.out, "difalt_1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if z.File[0].Name != "difalt.exe" || z.File[0].UncompressedSize64 != uint64(len(binary)) || len(z.File) != 3 {
		t.Errorf("the zip file begins with %s, and has %d files", z.File[0].Name, len(z.File))
	}
}

// The list of contents names the modules of the binary, and the library of the Go that built it, which need
// not be the Go that runs.
func TestContents(t *testing.T) {
	info, err := buildinfo.Read(bytes.NewReader(self(t)))
	if err != nil {
		t.Fatal(err)
	}
	for built, std := range map[string]string{"go1.2.3": "1.2.3", "go1.27.1 X:jsonv2": "1.27.1"} {
		info.GoVersion = built
		text, err := contents(info, "v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		var bill struct{ Components []component }
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		if len(bill.Components) == 0 || bill.Components[0].Name != "std" || bill.Components[0].URL != "pkg:golang/std@"+
			std {
			t.Errorf("%s: the components are %v", built, bill.Components)
		}
	}
	r := small(t)
	if err := r.archive("linux", "amd64", []byte("no program")); err == nil ||
		!strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("a file that is not a binary of Go: %v", err)
	}
	r.builtBy = "go1.2.3"
	if err := r.archive("linux", "arm64", self(t)); err == nil || !strings.Contains(err.Error(), "go1.2.3") {
		t.Errorf("a binary of another Go: %v", err)
	}
}

// TestBuilder: the provenance names the workflow and its run on GitHub, and elsewhere nothing of GitHub.
func TestBuilder(t *testing.T) {
	r := small(t)
	variables := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b",
		"GITHUB_RUN_ID":      "17",
		"GITHUB_RUN_ATTEMPT": "2", "GITHUB_WORKFLOW_REF": "a/b/.github/workflows/c.yml@refs/tags/v1.2.3",
	}
	for _, c := range []struct{ actions, builder, run string }{
		{"true", "https://github.com/a/b/.github/workflows/c.yml@refs/tags/v1.2.3",
			"https://github.com/a/b/actions/runs/17/attempts/2"},
		{"", repository + "/tree/" + r.commit + "/scripts/packages#by-hand", ""},
	} {
		variables["GITHUB_ACTIONS"] = c.actions
		text, err := json.Marshal(r.builder(func(name string) string { return variables[name] }))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Builder  struct{ ID string }
			Metadata struct{ InvocationID string }
		}
		if err := json.Unmarshal(text, &got); err != nil || got.Builder.ID != c.builder ||
			got.Metadata.InvocationID != c.run {
			t.Errorf("the builder is %s, %v", text, err)
		}
	}
}

// imageBlobs are the files of an image by name.
type imageBlobs map[string][]byte

// follow decodes the blob of a descriptor.
func (blobs imageBlobs) follow(t *testing.T, d descriptor, v any) []byte {
	t.Helper()
	content := blobs["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if len(content) != d.Size {
		t.Fatalf("the blob %s has %d bytes, want %d", d.Digest, len(content), d.Size)
	}
	if v != nil {
		if err := json.Unmarshal(content, v); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

// checkArchitecture checks the image of one architecture, whose program has the given content.
func checkArchitecture(t *testing.T, blobs imageBlobs, d descriptor, arch, want string) {
	t.Helper()
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Architecture, OS string
		Config           struct{ User string }
		RootFS           struct {
			IDs []string `json:"diff_ids"`
		}
	}
	blobs.follow(t, d, &manifest)
	blobs.follow(t, manifest.Config, &config)
	plain, err := io.ReadAll(unzip(t, blobs.follow(t, manifest.Layers[0], nil)))
	if err != nil {
		t.Fatal(err)
	}
	if id := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); config.RootFS.IDs[0] != id {
		t.Errorf("the layer %s is named %s", id, config.RootFS.IDs[0])
	}
	contents, headers := untar(t, bytes.NewReader(plain))
	if config.Architecture != arch || string(contents["usr/local/bin/difalt"]) != want ||
		config.Config.User != "65532:65532" {
		t.Errorf("the image of %s is %+v with %q", arch, config, contents["usr/local/bin/difalt"])
	}
	out := headers["out/"]
	if out == nil || out.Mode != 0o1777 || out.Typeflag != tar.TypeDir ||
		string(contents["licences/LICENSE"]) != "terms" {
		t.Errorf("the image of %s has /out as %+v and the licence %q", arch, out, contents["licences/LICENSE"])
	}
}

// Every blob of the image has its digest as its name and its size in the descriptor; there is an image for
// each architecture, whose layer has the program and folders that anybody may write to.
func TestImage(t *testing.T) {
	r := small(t)
	if err := r.image([]*layer{{"amd64", []byte("first")}, {"arm64", []byte("second")}}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(r.out, "difalt_1.2.3_image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files, _ := untar(t, f)
	blobs := imageBlobs(files)
	for name, content := range blobs {
		if sum, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && sum != fmt.Sprintf("%x", sha256.Sum256(content)) {
			t.Errorf("%s has other content", name)
		}
	}
	if !strings.Contains(string(blobs["oci-layout"]), "1.0.0") {
		t.Errorf("the layout is %s", blobs["oci-layout"])
	}
	var index, all struct{ Manifests []descriptor }
	if err := json.Unmarshal(blobs["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("index.json: %v, %d manifests", err, len(index.Manifests))
	}
	for _, annotation := range []string{"org.opencontainers.image.ref.name", "io.containerd.image.name"} {
		if name := index.Manifests[0].Annotations[annotation]; name != "ghcr.io/difalt/difalt:1.2.3" {
			t.Errorf("the image has the name %q in %s", name, annotation)
		}
	}
	blobs.follow(t, index.Manifests[0], &all)
	want := map[string]string{"amd64": "first", "arm64": "second"}
	for _, d := range all.Manifests {
		arch := d.Platform["architecture"]
		checkArchitecture(t, blobs, d, arch, want[arch])
		delete(want, arch)
	}
	if len(want) != 0 {
		t.Errorf("there is no image for %v", want)
	}
}

// newSigningKey returns a new key for signatures, read from a file, and its public key.
func newSigningKey(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := readKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return public, key
}

// The checksums hold, the provenance names all packages by their digests, and the signature is of the
// checksums.
func TestStatements(t *testing.T) {
	public, key := newSigningKey(t)
	r := small(t)
	if err := r.write("b", []byte("second")); err != nil {
		t.Fatal(err)
	}
	if err := r.write("a", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := r.provenance([]string{"linux/amd64"}, os.Getenv); err != nil {
		t.Fatal(err)
	}
	if err := r.sums(key); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	first := fmt.Sprintf("%x  a\n", sha256.Sum256([]byte("first")))
	if !strings.HasPrefix(string(sums), first) || strings.Count(string(sums), "\n") != 3 {
		t.Errorf("the checksums are %s", sums)
	}
	signature, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS.sig"))
	if err != nil || !ed25519.Verify(public, sums, signature) {
		t.Errorf("the signature does not hold: %v", err)
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				InternalParameters   struct{ Go string }
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(r.out, "provenance.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatal(err)
	}
	if by := statement.Predicate.BuildDefinition.InternalParameters.Go; by != r.builtBy {
		t.Errorf("the statement has the Go %q, not %q", by, r.builtBy)
	}
	if len(statement.Subject) != 2 || statement.Subject[0].Name != "a" ||
		first != statement.Subject[0].Digest["sha256"]+"  a\n" ||
		statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != r.commit {
		t.Errorf("the statement is %s", text)
	}
}

// A key that cannot sign is refused before anything is built, and so is a folder with files.
func TestRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file without a key: %v", err)
	}
	if err := run(t.Context(), "v1.2.3", filepath.Dir(path), nil, ""); err == nil ||
		!strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with a file: %v", err)
	}
}

// TestCommitted: packages come from a commit, and a tracked file that differs from it is named.
func TestCommitted(t *testing.T) {
	clone := t.TempDir()
	name := filepath.Join(clone, "file")
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)
		if _, err := output(t.Context(), clone, nil, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("old")
	git("add", "file")
	git("commit", "-q", "-m", "one")
	if err := committed(t.Context(), clone); err != nil {
		t.Errorf("without changes: %v", err)
	}
	write("new")
	if err := committed(t.Context(), clone); err == nil || !strings.Contains(err.Error(), "file") {
		t.Errorf("with a change: %v", err)
	}
}
