package permission_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// everydayTree is a repository in Go, TypeScript and Python, with packages that git ignores and a secret.
func everydayTree(t *testing.T, packages int) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"go.mod module example.com/app", "go.sum", "cmd/server/main.go package main", "cmd/tool/main.go package main", "internal/server/server.go package server",
		"internal/server/handler.go package server", "internal/config/config.go package config", "internal/config/config_test.go package config", "docs/guide.md # Guide", "docs/api.md # API",
		"docs/logo.png", "package.json {}", "package-lock.json {}", "tsconfig.json {}", "src/index.ts export {}", "src/api.ts export {}", "src/api.test.ts export {}", "pyproject.toml [project]", "scripts/import.py import csv",
		"tests/test_app.py import pytest", "Makefile test:", "README.md # App", "data/users.csv id,name", "data/users_old.csv id,name", "data/orders.csv id,user", "config/default.json {}", "config/production.json {}",
		"config/features.json []", "config/default.yaml a: 1", "config/production.yaml a: 2", "logs/app.log ok", ".gitignore node_modules/\n.env\nlogs/", "node_modules/typescript/package.json {}",
	} {
		name, text, _ := strings.Cut(name, " ")
		write(name, text+"\n")
	}
	git := exec.Command("bash", "-c", `git init -q -b main . && git add -A && git -c user.name=me -c user.email=me@example.com commit -qm first`)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("no git here: %v: %s", err, out)
	}
	write(".env", "KEY=canary\n")
	for i := range packages {
		write(fmt.Sprintf("node_modules/p%d/index.js", i), "")
	}
	return dir
}

// judgeEveryday is the decision on a line in a directory of the real disk.
func judgeEveryday(dir, line string, rules permission.Rules, enforced func() bool) (tool.Decision, []string) {
	w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "..", "home"), Disk: ondisk.New([]string{dir}), Path: systemPath, Enforced: enforced}.Patient()
	r := commandRequest(line)
	r.Confirm = tool.Command{Line: line, Directory: dir}
	return permission.Check(w, rules, permission.Default, permission.Options{}, r)
}

func yes() bool { return true }

// Nineteen of twenty everyday commands run without approval where trials work, as by default on Linux, and nine of ten
// where the sandbox only enforces reads. Both lists are by people who hadn't seen this package; the second was written when
// the first passed.
func TestEveryday(t *testing.T) {
	dir := everydayTree(t, 3000)
	for _, file := range []string{"everyday.txt", "everyday2.txt"} {
		t.Run(file, func(t *testing.T) { testEveryday(t, dir, file) })
	}
}

func testEveryday(t *testing.T, dir, file string) {
	lines := bashlab.ReadLines(t, "testdata/"+file)
	share := func(enforced func() bool, trials bool) (share float64, asks []string) {
		for _, l := range lines {
			if d, why := judgeEveryday(dir, l.Text, permission.Rules{}, enforced); d.Verdict != tool.Allow && !(trials && d.Try) {
				asks = append(asks, fmt.Sprintf("%s:%d: %s\n\t%s", file, l.Number, l.Text, strings.Join(why, "\n\t")))
			}
		}
		slices.Sort(asks)
		return 1 - float64(len(asks))/float64(len(lines)), asks
	}
	alone, _ := share(nil, false)
	enforced, asks := share(yes, false)
	tried, _ := share(yes, true)
	t.Logf("of %d run without approval: %.1f %% with trials, %.1f %% where the sandbox enforces reads, %.1f %% elsewhere\n%s",
		len(lines), 100*tried, 100*enforced, 100*alone, strings.Join(asks, "\n"))
	if tried < 0.95 || enforced < 0.9 {
		t.Errorf("%.1f %% and %.1f %% run without approval, want 95 %% and 90 %%", 100*tried, 100*enforced)
	}
}
