package main

import (
	"embed"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"ovation/importer"
)

// completionCommand prints a script for a shell. The script completes commands, flags,
// and the values of flags that have one of a few; everything else is completed as a file.
// It holds all of them, so that completing does not run ovation.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help returns the text between the command's summary and its arguments.
func (*completionCommand) Help() string {
	return `To load it in every shell, add a line to its startup file:

  bash: source <(ovation completion bash)     in ~/.bashrc
  zsh:  source <(ovation completion zsh)      in ~/.zshrc, below compinit
  fish: ovation completion fish | source      in ~/.config/fish/config.fish`
}

// Run prints the script and nothing else.
func (c *completionCommand) Run(p *program, parsed *kong.Context) error {
	return writeCompletion(p.stdout, c.Shell, parsed.Model)
}

//go:embed completion
var completionFiles embed.FS

// writeCompletion writes the completion script of a shell, which must be bash, zsh or
// fish.
func writeCompletion(to io.Writer, shell string, app *kong.Application) error {
	script, err := template.New(shell+".tmpl").Funcs(template.FuncMap{
		"join": strings.Join, "quote": quoteFor(shell),
	}).ParseFS(completionFiles, "completion/"+shell+".tmpl")
	if err != nil {
		return fmt.Errorf("print the completion of %s: %w", shell, err)
	}
	if err := script.Execute(to, completedCommands(app.Node, "")); err != nil {
		return fmt.Errorf("print the completion of %s: %w", shell, err)
	}
	return nil
}

// quoteFor returns a function that quotes a text as one word of a shell.
func quoteFor(shell string) func(string) string {
	replacements := strings.NewReplacer(`'`, `'\''`)
	if shell == "fish" {
		replacements = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	}
	return func(s string) string { return "'" + replacements.Replace(s) + "'" }
}

// completedCommand is what can follow a command.
type completedCommand struct {
	Path  string // the words of the command, each after a space; empty for ovation alone
	Words []completedWord
	Files bool // the command takes an argument of which nothing is known
	Flags []completedFlag
}

// completedWord is a word with its description.
type completedWord struct{ Name, Help string }

// completedFlag is a flag. Flags that take no value have neither Values nor AnyValue.
type completedFlag struct {
	completedWord

	Values   []string
	AnyValue bool
}

// Names returns the names of the words that can follow.
func (c completedCommand) Names() (names []string) {
	for _, w := range c.Words {
		names = append(names, w.Name)
	}
	return names
}

// FlagNames returns the flags, with dashes.
func (c completedCommand) FlagNames() (names []string) {
	for _, f := range c.Flags {
		names = append(names, "--"+f.Name)
	}
	return names
}

// completedCommands returns a command and all commands below it.
func completedCommands(node *kong.Node, path string) []completedCommand {
	this := completedCommand{Path: path}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			this.Flags = append(this.Flags, completedFlags(f)...)
		}
	}
	for _, argument := range node.Positional {
		if argument.Enum == "" {
			this.Files = true
			continue
		}
		for _, value := range argument.EnumSlice() {
			this.Words = append(this.Words, completedWord{Name: value})
		}
	}
	all := []completedCommand{this}
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		all[0].Words = append(all[0].Words, completedWord{child.Name, brief(child.Help)})
		all = append(all, completedCommands(child, path+" "+child.Name)...)
	}
	return all
}

// completedFlags returns a flag, followed by its negation if it has one.
func completedFlags(f *kong.Flag) []completedFlag {
	is := completedFlag{completedWord: completedWord{f.Name, brief(f.Help)}}
	switch {
	case f.IsBool():
		if f.Tag.Negatable != "" {
			return []completedFlag{is, {completedWord: completedWord{"no-" + f.Name, "Not: " + is.Help}}}
		}
	case f.Tag.Type != "" && choices[f.Tag.Type] != nil:
		is.Values = choices[f.Tag.Type]
	case f.Target.Type() == reflect.TypeFor[level]():
		is.Values = levels
	case slices.Contains(f.Envs, "OVATION_IMPORT_MAP"): // it may also be a file
		is.Values, is.AnyValue = importer.Presets(), true
	default:
		is.AnyValue = true
	}
	return []completedFlag{is}
}

// brief returns the beginning of a help text, for a list in a terminal.
func brief(help string) string {
	for _, end := range []string{". ", "; ", ": "} {
		help, _, _ = strings.Cut(help, end)
	}
	return strings.TrimSuffix(help, ".")
}
