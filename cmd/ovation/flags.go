package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// flagsCommand prints the flags of all commands, as docs/flags.md has them.
type flagsCommand struct{}

// Run prints the flags of all commands.
func (*flagsCommand) Run(p *program, parsed *kong.Context) error {
	var text strings.Builder
	printFlags(&text, parsed.Model)
	_, err := io.WriteString(p.stdout, text.String())
	return err
}

// servers are the commands that share most of their flags. They have one table.
var servers = []string{"dev", "serve", "work", "stack"}

// describedFlag is a row of a table of flags.
type describedFlag struct {
	name, variable, help string
	commands             []string          // of a table of several commands
	defaults             map[string]string // by command
}

// printFlags prints tables with the flags of all commands, in Markdown.
func printFlags(to io.Writer, model *kong.Application) {
	sayf(to, `# Flags

Every option is a flag and an environment variable; the flag takes precedence. An invalid value is rejected with an error that
states what is valid. Options that are too dangerous to be left set have no variable. This file is written by `+"`make generate`"+` from
the texts of `+"`ovation COMMAND --help`"+`.

## The servers

| flag | variable | default | of | meaning |
|---|---|---|---|---|
`)
	shared := map[string]bool{}
	for _, f := range flagsOf(model, servers...) {
		shared[f.name] = true
		sayf(to, "| %s | %s | %s | %s | %s |\n", f.name, f.variable, f.defaultText(), strings.Join(f.commands, ", "), f.help)
	}
	sayf(to, "\n## The other commands\n\nMost of these commands also have flags of the servers, such as `--data` and `--postgres-url`: see their `--help`.\n\n| command | flag | variable | default | meaning |\n|---|---|---|---|---|\n")
	for _, command := range model.Leaves(true) {
		path := strings.TrimPrefix(command.Path(), model.Name+" ")
		if slices.Contains(servers, path) {
			continue
		}
		for _, f := range flagsOf(model, path) {
			if !shared[f.name] {
				sayf(to, "| %s | %s | %s | %s | %s |\n", path, f.name, f.variable, f.defaultText(), f.help)
			}
		}
	}
}

// flagsOf returns the flags of commands, sorted by name.
func flagsOf(model *kong.Application, commands ...string) (out []*describedFlag) {
	byName := map[string]*describedFlag{}
	for _, command := range model.Leaves(true) {
		path := strings.TrimPrefix(command.Path(), model.Name+" ")
		if !slices.Contains(commands, path) {
			continue
		}
		for _, flag := range command.Flags {
			name := "`--" + flag.Name + "`"
			if flag.Tag.Negatable != "" {
				name = "`--[no-]" + flag.Name + "`"
			}
			f := byName[name]
			if f == nil {
				f = &describedFlag{name: name, help: escapeCell(flag.Help), defaults: map[string]string{}}
				if len(flag.Envs) > 0 {
					f.variable = "`" + flag.Envs[0] + "`"
				}
				byName[name], out = f, append(out, f)
			}
			f.commands = append(f.commands, path)
			f.defaults[path] = defaultOf(flag)
		}
	}
	slices.SortFunc(out, func(a, b *describedFlag) int {
		return cmp.Compare(strings.Trim(a.name, "`-[]"), strings.Trim(b.name, "`-[]"))
	})
	return out
}

func defaultOf(flag *kong.Flag) string {
	switch {
	case flag.IsBool() && flag.Default == "true":
		return "on"
	case flag.IsBool():
		return "off"
	case flag.Default == "":
		return ""
	}
	return "`" + flag.Default + "`"
}

// defaultText returns the default, or those of the commands if they differ.
func (f *describedFlag) defaultText() string {
	texts := make([]string, len(f.commands))
	for i, command := range f.commands {
		texts[i] = f.defaults[command]
	}
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	for i, command := range f.commands {
		texts[i] = fmt.Sprintf("%s: %s", command, cmp.Or(texts[i], "none"))
	}
	return strings.Join(texts, ", ")
}

func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
