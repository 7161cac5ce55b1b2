package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// flagsCommand prints the flags of all commands: the text of docs/flags.md.
type flagsCommand struct{}

// Run prints the flags of all commands.
func (*flagsCommand) Run(p *program, parsed *kong.Context) error {
	var text strings.Builder
	printFlags(&text, parsed.Model)
	_, err := io.WriteString(p.stdout, text.String())
	return err
}

// servers are the commands that share most of their flags.
var servers = []string{"dev", "serve", "work", "stack"}

// describedFlag is a flag of one or more commands, with the same meaning in each.
type describedFlag struct {
	*kong.Flag

	commands []string          // without the name of the program
	defaults map[string]string // by command
}

// printFlags prints lists with the flags of all commands, in Markdown.
func printFlags(to io.Writer, model *kong.Application) {
	sayf(to, `# Flags

Every option is a flag and an environment variable; the flag takes precedence. The default follows `+"`=`; `=…`"+` means that there
is none. Flags without a value are off, unless marked as on. An invalid value is rejected with an error that states what is
valid. This file is written by `+"`make generate` from the texts of `ovation COMMAND --help`"+`.

The variable is the flag's name in upper case with underscores after `+"`OVATION_`"+`, as in `+"`OVATION_MAX_UPLOAD`"+`. Another name is given
in parentheses. Options that are too dangerous to be left set have no variable.
`)
	shared := flagsOf(model, servers)
	for _, set := range sets(shared) {
		sayf(to, "\n## %s\n\n", strings.Join(set[0].commands, ", "))
		for _, f := range set {
			f.write(to, "", "OVATION_")
		}
	}
	sayf(to, "\n## Other commands\n\nTheir variables also have the command in their names, as in `OVATION_IMPORT_DRY_RUN`. Most of these commands also have flags listed\nabove, such as `--data` and `--postgres-url`, with the same meanings and variables.\n")
	for _, command := range model.Children {
		if slices.Contains(servers, command.Name) {
			continue
		}
		own := slices.DeleteFunc(flagsOf(model, pathsOf(model, command.Name)), func(f *describedFlag) bool {
			return slices.ContainsFunc(shared, f.sameAs)
		})
		if len(own) > 0 {
			sayf(to, "\n### %s\n\n", command.Name)
		}
		for _, f := range own {
			subcommands := make([]string, len(f.commands))
			for i, path := range f.commands {
				subcommands[i] = strings.TrimPrefix(strings.TrimPrefix(path, command.Name), " ")
			}
			f.write(to, strings.TrimLeft(strings.Join(subcommands, "|")+" ", " "), "OVATION_"+variableOf(command.Name)+"_")
		}
	}
}

// pathsOf returns the commands that begin with the given word.
func pathsOf(model *kong.Application, first string) (paths []string) {
	for _, command := range model.Leaves(true) {
		path := strings.TrimPrefix(command.Path(), model.Name+" ")
		if word, _, _ := strings.Cut(path, " "); word == first {
			paths = append(paths, path)
		}
	}
	return paths
}

// flagsOf returns the flags of commands, sorted by name.
func flagsOf(model *kong.Application, commands []string) (out []*describedFlag) {
	for _, command := range model.Leaves(true) {
		path := strings.TrimPrefix(command.Path(), model.Name+" ")
		if !slices.Contains(commands, path) {
			continue
		}
		for _, flag := range command.Flags {
			f := &describedFlag{Flag: flag, defaults: map[string]string{}}
			if i := slices.IndexFunc(out, f.sameAs); i >= 0 {
				f = out[i]
			} else {
				out = append(out, f)
			}
			f.commands = append(f.commands, path)
			f.defaults[path] = flag.Default
		}
	}
	slices.SortStableFunc(out, func(a, b *describedFlag) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sameAs reports whether two flags have the same name, meaning and variable.
func (f *describedFlag) sameAs(other *describedFlag) bool {
	return f.Name == other.Name && f.Help == other.Help && slices.Equal(f.Envs, other.Envs)
}

// sets divides flags by the commands that have them. The sets of the first command come
// first.
func sets(flags []*describedFlag) (out [][]*describedFlag) {
	place := func(command string) int { return slices.Index(servers, command) }
	compare := func(a, b *describedFlag) int {
		return slices.CompareFunc(a.commands, b.commands, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	}
	flags = slices.SortedStableFunc(slices.Values(flags), compare)
	for i, f := range flags {
		if i == 0 || compare(flags[i-1], f) != 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], f)
	}
	return out
}

// write writes a line with the flag, its default and its meaning. The variable is written
// only if it is not the prefix followed by the flag's name.
func (f *describedFlag) write(to io.Writer, subcommands, prefix string) {
	name, notes := "--"+f.Name, []string(nil)
	if f.Tag.Negatable != "" {
		name = "--[no-]" + f.Name
	}
	if text := f.defaultText(); f.IsBool() || strings.Contains(text, ": ") {
		notes = append(notes, text)
	} else {
		name += "=" + cmp.Or(text, "…")
	}
	switch {
	case len(f.Envs) == 0:
		notes = append(notes, "no variable")
	case f.Envs[0] != prefix+variableOf(f.Name):
		notes = append(notes, "`"+f.Envs[0]+"`")
	}
	noted := strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), ", ")
	if noted != "" {
		noted = " (" + noted + ")"
	}
	sayf(to, "- `%s%s`%s: %s\n", subcommands, name, noted, strings.NewReplacer("<", "&lt;", "\n", " ").Replace(f.Help))
}

// defaultText returns the default, or those of the commands if they differ. Off, the
// default of most options without a value, is "".
func (f *describedFlag) defaultText() string {
	texts := make([]string, len(f.commands))
	for i, command := range f.commands {
		if texts[i] = f.defaults[command]; f.IsBool() {
			texts[i] = map[string]string{"true": "on"}[texts[i]]
		}
	}
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	for i, command := range f.commands {
		texts[i] = fmt.Sprintf("%s: %s", command, cmp.Or(texts[i], map[bool]string{true: "off", false: "none"}[f.IsBool()]))
	}
	return strings.Join(texts, ", ")
}

// variableOf returns the part of a variable's name that stands for a flag or command.
func variableOf(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
