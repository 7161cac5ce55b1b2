package main

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/resolvers/persisted"
)

// trustedFlags are the flags for trusted documents.
type trustedFlags struct {
	TrustedDocuments []string `help:"Manifests (of Relay, Apollo or GraphQL Code Generator) of documents that requests may name by id, comma-separated." placeholder:"FILE,…" env:"OVATION_TRUSTED_DOCUMENTS"`
	OnlyTrusted      bool     `help:"Refuse all documents except those of --trusted-documents." env:"OVATION_ONLY_TRUSTED"`
}

// checkTrusted returns a usage error if every document would be refused.
func (f trustedFlags) checkTrusted() error {
	if f.OnlyTrusted && len(f.TrustedDocuments) == 0 {
		return usage("--only-trusted or OVATION_ONLY_TRUSTED refuses all documents except those of --trusted-documents or OVATION_TRUSTED_DOCUMENTS, which must name a file")
	}
	return nil
}

// trusted returns the trusted documents, which are reloaded with the files of the program.
// It returns nil if there are none.
func (f trustedFlags) trusted(p *program, registry prometheus.Registerer) *persisted.Trusted {
	if len(f.TrustedDocuments) == 0 {
		return nil
	}
	files := make([]string, len(f.TrustedDocuments))
	for i, file := range f.TrustedDocuments {
		files[i] = strings.TrimSpace(file)
	}
	all := persisted.NewTrusted(persisted.TrustedOptions{Files: files, Only: f.OnlyTrusted, Registry: registry})
	p.onReload("the trusted documents of "+strings.Join(files, ", "), all.Load)
	return all
}
