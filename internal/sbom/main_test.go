package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestBillListsLinkedModules(t *testing.T) {
	sum := sha256.Sum256([]byte("a binary"))
	b := billOf("ovation", "v0.1.0+dirty", &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "ovation"},
		Settings:  []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-s -w"}},
		Deps: []*debug.Module{
			{Path: "github.com/MicahParks/jwkset", Version: "v0.11.0", Sum: "h1:" + "LPJCpXVhQhuwdy6VlJjNGSnVeJbEhCsWWZpyr3HvMXk="},
			{Path: "a.example/old", Version: "v1.0.0", Replace: &debug.Module{Path: "a.example/new", Version: "v2.0.0"}},
		},
	}, sum[:])
	names := make([]string, len(b.Components))
	for i, c := range b.Components {
		names[i] = c.PURL
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/github.com/micahparks/jwkset@v0.11.0", "pkg:golang/a.example/new@v2.0.0"}
	if !slices.Equal(names, want) || !slices.Equal(b.Dependencies[0].Uses, want) {
		t.Errorf("the bill lists %v and depends on %v, want %v", names, b.Dependencies[0].Uses, want)
	}
	if h := b.Components[1].Hashes; len(h) != 1 || len(h[0].Content) != 64 || len(b.Components[2].Hashes) != 0 {
		t.Errorf("the hashes are %v and %v, want one of 64 digits, then none", h, b.Components[2].Hashes)
	}
	p := b.Metadata.Component
	if p.PURL != "pkg:golang/ovation@v0.1.0%2Bdirty" || !slices.Equal(p.Properties, []property{{"go:GOOS", "linux"}}) || b.Dependencies[0].Ref != p.Ref {
		t.Errorf("the program is %+v, the first dependency of %s, want pkg:golang/ovation@v0.1.0%%2Bdirty for linux, of itself", p, b.Dependencies[0].Ref)
	}
	if !strings.HasPrefix(b.Serial, "urn:uuid:") || len(b.Serial) != len("urn:uuid:")+36 || b.Serial[9+14] != '8' {
		t.Errorf("the serial number is %s, want the URN of a UUID of version 8", b.Serial)
	}
}

func TestBillOfABinaryIsReproducible(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var one, two bytes.Buffer
	for _, to := range []*bytes.Buffer{&one, &two} {
		if err := run([]string{"sbom", "devel", self}, to); err != nil {
			t.Fatal(err)
		}
	}
	var b bill
	if err := json.Unmarshal(one.Bytes(), &b); err != nil || b.Format != "CycloneDX" || b.Components[0].Name != "std" {
		t.Errorf("got %v, %s, want CycloneDX with std as the first component", err, &one)
	}
	if one.String() != two.String() {
		t.Errorf("two runs on one binary differ:\n%s\n%s", &one, &two)
	}
	if err := run([]string{"sbom"}, &one); err == nil {
		t.Error("run without a binary returned no error, want one")
	}
}
