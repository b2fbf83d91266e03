package session

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
)

// oldSession is the session in testdata/1deaea5.tar.gz.
const oldSession = "df0152b8-1ac2-40d2-aa75-fce1ec9a71a0"

// unpackOld unpacks what commit 1deaea5 made in /srv/fixture: settings, a journal without checksums, an undo store with a pack
// and separate files, and the workspace after two commands and an undo of the second.
func (d *desk) unpackOld(t *testing.T) {
	t.Helper()
	packed, err := os.Open("testdata/1deaea5.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(d.dir, strings.TrimPrefix(h.Name, "ws"))
		if rest, ok := strings.CutPrefix(h.Name, "home/.adze/"); ok {
			path = filepath.Join(d.home, rest)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(path); name == "journal.jsonl" || name == "settings.json" {
			content = bytes.ReplaceAll(content, []byte("/srv/fixture/ws"), []byte(d.dir))
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o700)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			err = errors.Join(os.WriteFile(path, content, 0o600), os.Chmod(path, h.FileInfo().Mode().Perm()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Settings, journals and undo stores of earlier versions still work.
func TestOldState(t *testing.T) {
	skipWindows(t)
	d := newDesk(t, openaitest.Answer{Expect: []string{"change everything", "The user undid changes of earlier calls", "go on"}, Text: "continued"})
	d.unpackOld(t)
	directory := project.Directory{Home: d.home, Path: d.dir}
	for i, sel := range []record.Selection{{}, {Redo: true}, {Redo: true}, {All: true}} {
		u, err := record.Of(directory).OpenUndo(oldSession, sel, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		left, err := u.Apply(t.Context())
		if err = errors.Join(err, u.Close()); err != nil || len(left) > 0 {
			t.Fatal(i, left, err)
		}
		undone := i == 0 || i == 3
		want := map[string]string{
			"a.txt": "", "src/main.go": "", "moved.txt": "one\n", ".env": "KEY=2\n", "new/file": "new\n", "large.bin": strings.Repeat("\x00", 1048600) + "x",
		}
		if undone {
			want = map[string]string{
				"a.txt": "one\n", "src/main.go": "package main\n", "moved.txt": "", ".env": "KEY=1\n", "new/file": "", "large.bin": strings.Repeat("\x00", 1048600),
			}
		}
		if i == 1 { // only the first command is done again
			want[".env"], want["new/file"] = "KEY=1\n", ""
		}
		for name, content := range want {
			d.holds(t, name, content)
		}
		if info, err := os.Stat(filepath.Join(d.dir, "run.sh")); err != nil || info.Mode().Perm() != map[bool]os.FileMode{true: 0o644, false: 0o755}[undone] {
			t.Errorf("%d: run.sh: %v %v", i, info.Mode(), err)
		}
	}
	s, c := d.open(t, &recording.Options{Resume: oldSession})
	if u := s.Settings.Undo; u.MaxFileBytes != 4<<20 || u.MaxFiles != 100_000 || s.Policy.Mode() != permission.Yolo || s.Settings.Tools.Sandbox != "off" {
		t.Errorf("settings: %+v, mode %v", u, s.Policy.Mode())
	}
	if got := d.say(t, c, "go on"); got != "continued" {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(d.told) > 0 {
		t.Errorf("notices: %q", d.told)
	}
	if state := d.state(t, oldSession); state.Agent("").Turns != 4 {
		t.Errorf("%d turns", state.Agent("").Turns)
	}
}
