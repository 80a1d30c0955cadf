package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A component is a module in the list of contents of a binary.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
}

func newComponent(kind, name, version string) component {
	return component{kind, name, version, "pkg:golang/" + name + "@" + version}
}

// contents returns the list of contents (SBOM) of a binary in the format of CycloneDX: the modules that the
// binary itself names, and the library of the Go that built it.
func contents(info *buildinfo.BuildInfo, version string) ([]byte, error) {
	std, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ") // without experiments
	list := []component{newComponent("library", "std", std)}
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		name := m.Path
		if strings.HasPrefix(info.Main.Path, name+"/") { // the library of this repository
			list = append(list, newComponent("library", name, version))
			continue
		}
		list = append(list, newComponent("library", name, m.Version))
	}
	return indented(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   map[string]any{"component": newComponent("application", info.Main.Path, version)},
		"components": list,
	})
}

// indented returns a value as JSON for people.
func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

const repository = "https://github.com/difalt/difalt"

// builder returns the builder of SLSA and the run of it that makes the packages: the workflow and its run on
// GitHub, as variables of the environment name them, and elsewhere this program on somebody's machine.
func (r *release) builder(getenv func(string) string) map[string]any {
	workflow := getenv("GITHUB_WORKFLOW_REF") // difalt/difalt/.github/workflows/release.yml@refs/tags/v1.2.3
	if getenv("GITHUB_ACTIONS") != "true" || workflow == "" {
		here := repository + "/tree/" + r.commit + "/scripts/packages#by-hand"
		return map[string]any{"builder": map[string]any{"id": here}}
	}
	server := getenv("GITHUB_SERVER_URL") + "/"
	run := server + getenv("GITHUB_REPOSITORY") + "/actions/runs/" + getenv("GITHUB_RUN_ID") +
		"/attempts/" + getenv("GITHUB_RUN_ATTEMPT")
	return map[string]any{
		"builder":  map[string]any{"id": server + workflow},
		"metadata": map[string]any{"invocationId": run},
	}
}

// provenance writes where the packages come from, as a statement of in-toto with the predicate of SLSA:
// commit, version of Go, systems, builder, and the digest of every package.
func (r *release) provenance(systems []string, getenv func(string) string) error {
	type digest map[string]string
	var subjects []map[string]any
	for _, name := range slices.Sorted(slices.Values(r.names)) {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, map[string]any{"name": name, "digest": digest{"sha256": sum}})
	}
	text, err := indented(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          repository + "/tree/main/scripts/packages",
				"externalParameters": map[string]any{"version": r.version, "systems": systems},
				"internalParameters": map[string]any{"go": r.builtBy},
				"resolvedDependencies": []map[string]any{
					{"uri": "git+" + repository + "@" + r.version, "digest": digest{"gitCommit": r.commit}},
				},
			},
			"runDetails": r.builder(getenv),
		},
	})
	if err != nil {
		return err
	}
	return r.write("provenance.intoto.json", text)
}

// sums writes SHA256SUMS, as sha256sum -c reads it, and its signature unless key is nil.
func (r *release) sums(key ed25519.PrivateKey) error {
	var text bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(r.names)) {
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	if err := r.write("SHA256SUMS", text.Bytes()); err != nil || key == nil {
		return err
	}
	signature, err := key.Sign(nil, text.Bytes(), crypto.Hash(0))
	if err != nil {
		return err
	}
	return r.write("SHA256SUMS.sig", signature)
}

// sumOf returns the SHA-256 of a file in hexadecimal digits.
func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}

// readKey returns the private key of a file, or nil if path is "".
func readKey(path string) (ed25519.PrivateKey, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: is not a key in PEM", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: is a %T, not a key for Ed25519", path, key)
	}
	return private, nil
}
