package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Media types of the image specification of the Open Container Initiative.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// imageName is the name of the image in the registry, before a colon and the version.
const imageName = "ghcr.io/difalt/difalt"

// A layer is the binary of an architecture, which becomes the only layer of its image.
type layer struct {
	arch   string
	binary []byte
}

// A descriptor names a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A layout is an image in the layout of the specification, as a tar file has it.
type layout struct{ files []file }

// add adds a blob, and returns its descriptor.
func (l *layout) add(mediaType string, content []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	name := "blobs/sha256/" + sum
	if !slices.ContainsFunc(l.files, func(f file) bool { return f.name == name }) {
		l.files = append(l.files, file{name: name, content: content, mode: 0o644})
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(content)}
}

// addJSON adds a value as a blob. Values of this package can be encoded.
func (l *layout) addJSON(mediaType string, v any) descriptor {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return l.add(mediaType, content)
}

// image writes the image of all layers to one file, which skopeo copies to a registry and podman load
// reads: what the Dockerfile builds by default.
func (r *release) image(layers []*layer) error {
	var l layout
	var manifests []descriptor
	for _, one := range layers {
		manifest, err := r.manifest(&l, one)
		if err != nil {
			return err
		}
		manifests = append(manifests, manifest)
	}
	all := l.addJSON(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	name := imageName + ":" + r.number()
	all.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": name, // read by podman load
		"io.containerd.image.name":          name, // read by containerd
	}
	index := layout{}
	index.addJSON(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{all}})
	sortFiles(l.files)
	files := append([]file{
		{name: "oci-layout", content: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644},
		{name: "index.json", content: index.files[0].content, mode: 0o644},
	}, l.files...)
	content, err := tarred(files, r.time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("difalt_%s_image.tar", r.number()), content)
}

// manifest adds the blobs of the image of one architecture, and returns the descriptor of its manifest.
func (r *release) manifest(l *layout, one *layer) (descriptor, error) {
	files := []file{
		{name: "out/", mode: 0o1777}, {name: "tmp/", mode: 0o1777}, // for any user
		{name: "usr/local/bin/difalt", content: one.binary, mode: 0o755},
	}
	for _, f := range r.shared {
		if f.name == "LICENSE" {
			f.name = "licences/LICENSE"
		}
		if strings.HasPrefix(f.name, "licences/") {
			files = append(files, f)
		}
	}
	plain, err := tarred(files, r.time)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := gzipped(plain)
	if err != nil {
		return descriptor{}, err
	}
	unpacked := fmt.Sprintf("sha256:%x", sha256.Sum256(plain))
	config := l.addJSON(configType, map[string]any{
		"created": r.time.Format(time.RFC3339), "architecture": one.arch, "os": imageSystem,
		"config": map[string]any{
			"User": "65532:65532", "WorkingDir": "/out",
			"Entrypoint": []string{"/usr/local/bin/difalt"}, "Cmd": []string{"--help"},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "difalt", "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.source":   "https://github.com/difalt/difalt",
				"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "BSD-3-Clause",
			},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{unpacked}},
	})
	manifest := l.addJSON(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config,
		"layers": []descriptor{l.add(layerType, packed)},
	})
	manifest.Platform = map[string]string{"os": imageSystem, "architecture": one.arch}
	return manifest, nil
}
