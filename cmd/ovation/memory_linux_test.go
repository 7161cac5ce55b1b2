package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestFFmpegCannotReadItsParent runs a program as ffmpeg that tries to read the
// environment, the memory and the files of its parent, and prints what it has inherited.
func TestFFmpegCannotReadItsParent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	must.Succeed(t, os.Chmod(folder, 0o755))
	script := `#!/bin/sh
for secret in environ mem maps auxv; do
	( : </proc/$PPID/$secret ) 2>/dev/null && echo "read $secret" >&2
done
for secret in fd/0 fd/1 cwd root exe; do
	/bin/readlink /proc/$PPID/$secret >/dev/null 2>&1 && echo "read $secret" >&2
done
/bin/cat /proc/$PPID/environ >&2
for n in 3 4 5 6 7 8 9; do
	[ -e /proc/$$/fd/$n ] && echo "inherited file $n" >&2
done
echo "variables $(/usr/bin/env | /bin/grep -v '^PWD=\|^_=\|^SHLVL=\|^OLDPWD=') end, in $(/bin/pwd)" >&2
/bin/grep '^CapEff\|^CapPrm\|^CapInh\|^NoNewPrivs' /proc/$$/status >&2
exit 1
`
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "ffmpeg"), []byte(script), 0o755))
	secret, err := os.Open(os.DevNull)
	must.Succeed(t, err)
	defer secret.Close()
	s := serveBinaryWith(t, t.TempDir(), func(c *exec.Cmd) {
		c.Env = []string{"PATH=" + folder, "OVATION_JWT_SECRET=" + strings.Repeat("s3cret", 10)}
		c.ExtraFiles = []*os.File{secret, secret} // inherited as 3 and 4
	}, "--log-level=info")
	_, err = s.uploads("A film", clip(1000))
	must.Succeed(t, err)
	said := ""
	await.That(t, "the cover is refused", func() bool {
		said = s.log()
		return strings.Contains(said, "cover not made")
	})
	_, said, _ = strings.Cut(said, "cover not made")
	for _, unwanted := range []string{"read ", "s3cret", "inherited file"} {
		if strings.Contains(said, unwanted) {
			t.Errorf("ffmpeg can read its parent, want no %q in\n%s", unwanted, said)
		}
	}
	for _, wanted := range []string{
		"variables end, in / ", "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 NoNewPrivs: 1",
	} {
		if !strings.Contains(said, wanted) {
			t.Errorf("ffmpeg inherited more than it should; want %q in\n%s", wanted, said)
		}
	}
}
