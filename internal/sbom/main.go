// Command sbom prints the software bill of materials of a Go binary: the modules that are
// linked into the binary, as recorded by the linker, in CycloneDX 1.6 format (JSON). The
// output is reproducible: it depends only on the binary and the arguments.
//
//	go run ./internal/sbom NAME VERSION BINARY
//
// This package imports the standard library only.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// bill is a CycloneDX document. See https://cyclonedx.org/docs/1.6/json.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref  string   `json:"ref"`
	Uses []string `json:"dependsOn"`
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, to io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: sbom NAME VERSION BINARY")
	}
	name, version, path := args[0], args[1], args[2]
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	out := json.NewEncoder(to)
	out.SetIndent("", "  ")
	return out.Encode(billOf(name, version, info, sum.Sum(nil)))
}

// billOf returns the bill of a binary; sum is the binary's SHA-256.
func billOf(name, version string, info *debug.BuildInfo, sum []byte) bill {
	program := component{
		Type: "application", Name: name, Version: version, PURL: purl(info.Main.Path, version),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum)}},
	}
	program.Ref = program.PURL
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || s.Key == "vcs.revision" {
			program.Properties = append(program.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	std := purl("std", goVersion)
	components := make([]component, 1, 1+len(info.Deps))
	components[0] = component{Type: "library", Ref: std, Name: "std", Version: goVersion, PURL: std}
	for _, module := range info.Deps {
		components = append(components, library(cmp.Or(module.Replace, module)))
	}
	uses := make([]string, len(components))
	for i := range components {
		uses[i] = components[i].Ref
	}
	return bill{
		Format: "CycloneDX", Spec: "1.6", Serial: serial(sum), Version: 1,
		Metadata: metadata{program}, Components: components, Dependencies: []dependency{{program.Ref, uses}},
	}
}

// library returns the component of a module. Its hash is the hash in go.sum, which covers
// the names and hashes of the module's files.
func library(module *debug.Module) component {
	c := component{Type: "library", Name: module.Path, Version: module.Version, PURL: purl(module.Path, module.Version)}
	c.Ref = c.PURL
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(raw) == sha256.Size {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}

// purl returns the package URL of a module.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial returns a UUID (version 8) derived from a SHA-256 sum.
func serial(sum []byte) string {
	id := [16]byte(sum)
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
