package permission_test

import (
	"strings"
	"testing"
)

// What a command reads is not always what its words say: zcat x opens x.gz where there is no x, nm opens a.out, git diff
// -- a b compares two folders where there is no repository, and a pattern may stand for a folder that is gone through.
// Each of these told what lies outside the workspace, or a secret, and ran unasked.
func TestWhatIsReadByAnotherName(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	for _, h := range []struct{ setup, command string }{
		{"mkdir src1 && cp .env src1", "grep -rn KEY src?"},
		{"mkdir src1 && cp .env src1", "grep -r KEY src[1]"},
		{"mkdir src1 && cp .env src1", "cd src && grep -r KEY ../src[1-9]"},
		{"mkdir -p p/src1 && cp .env p/src1", "rg -. KEY p/src?"},
		{"mkdir -p p/src1 p/q && cp .env p/src1", "diff -rN p/src? p/q"},
		{"mkdir src1 && cp .env src1", `for d in src?; do grep -r KEY "$d"; done`},
		{"mkdir src1 && ln -s ../../notes.txt src1/x.go", "find src? -name '*.go' -exec cat {} +"},
		{"mkdir src1 && ln -s ../../notes.txt src1/x.go", `find src* -name '*.go' -exec grep -n a {} \;`},
		{"mkdir src1 && ln -s /home/me/private src1/p", "diff -rN src? src/deep"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../n.gz l.gz", "zcat l"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../n.gz l.Z", "gzip -dc l"},
		{"gzip -c ../notes.txt > ../n.gz && ln -s ../../n.gz src/l-z", "cd src && gunzip -c l"},
		{"cd .. && zip -q n.zip notes.txt && ln -s ../n.zip app/l.zip", "unzip -p l"},
		{"cd .. && zip -q n.zip canary-4711.txt && ln -s ../n.zip app/l.ZIP", "zipinfo l"},
		{"cp /bin/true ../n && echo canary-4711 > ../c && objcopy --add-section .c=../c ../n && ln -s ../n a.out", "objdump -j .c -s"},
		{"rm -rf .git && mkdir empty", "git diff -- conf empty"},
		{"rm -rf .git && mkdir empty", "git diff empty conf --"},
		{"rm -rf .git && mkdir empty", "git diff conf -- empty"},
		{"mkdir other && mv conf docs other && cd src && git init -q", "cd src && git diff -- ../other/conf ../other/docs"},
		{"true", "rg -g '.{env}' KEY"},
		{"true", "rg -g '*{env}' KEY"},
		{"true", "rg --iglob '.{ENV}' KEY"},
		{"mkdir .hid && cp server.pem .hid && rm server.pem src/link src/lenv docs/away out && ln -s .hid vis", "rg -L canary"},
		{"true", "find . -name conf -exec grep -r a {} +"},
		{"true", "find . -name conf | xargs grep -rs a"},
		{"true", `for d in $(find . -name conf); do grep -r a $d; done`},
		{"true", `find . -name conf | while read -r d; do grep -r a "$d"; done`},
		{"true", "find . -name conf | xargs diff -rN docs"},
		{"mkdir .hid && mv server.pem .hid", "find . -name .hid | xargs rg canary"},
		{"echo 'canary-4711 [' > ../n && ln -s ../n .rgignore", "rg -g '*.go' foo"},
		{"echo 'canary-4711 [' > ../n && ln -s ../n .ignore", "rg foo src"},
		{"echo 'canary-4711 [' > ../n && ln -s ../../../n src/deep/.ignore", "rg -tgo foo src"},
		{"git add -f .env && git commit -qm x", "git show -L1,1:.env"},
	} {
		if lacks(h.setup + " && " + h.command) {
			continue
		}
		if e := b.run(t, order{Command: h.command, Setup: []string{h.setup}}); !e.Told {
			t.Errorf("%s: tells nothing: %s", h.command, e.Output)
		}
		if e := b.run(t, order{Command: h.command, Setup: []string{h.setup}, Judge: true}); !e.Asked {
			t.Errorf("%s: not asked about: %s", h.command, e.harm())
		}
	}
	for _, h := range []struct{ setup, command string }{
		{"mkdir src1 && cp main.go src1", "grep -rn package src?"},
		{"true", "git diff HEAD -- docs/guide.md"},
		{"gzip -k README.md", "zcat README.md.gz"},
	} {
		if e := b.run(t, order{Command: h.command, Setup: []string{h.setup}, Judge: true}); e.Asked || e.harm() != "" {
			t.Errorf("%s: asked about: %s", h.command, e.harm())
		}
	}
}

// lacks reports whether a line needs a program that is not here.
func lacks(line string) bool {
	for _, name := range []string{"rg", "zip", "zipinfo", "unzip", "objcopy", "gzip"} {
		if !inBox(name) && strings.Contains(" "+line+" ", " "+name+" ") {
			return true
		}
	}
	return false
}

// Where pyenv stands behind the name, python --version tells the first line of .python-version if it is no version, and
// that file may be a link.
func TestWishForAVersion(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	if e := b.run(t, order{Command: "python3 --version", Setup: []string{"ln -s /home/me/notes.txt .python-version"}, Judge: true}); !e.Asked {
		t.Errorf("a version behind a link: not asked about: %s", e.Output)
	}
}
