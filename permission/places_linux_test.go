package permission_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/tool"
)

// exampleRepository is a repository in Go, TypeScript and Python, with packages that git ignores and a secret.
func exampleRepository(t *testing.T, packages int) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir,
		"go.mod module example.com/app", "go.sum", "cmd/server/main.go package main", "cmd/tool/main.go package main", "internal/server/server.go package server",
		"internal/server/handler.go package server", "internal/config/config.go package config", "internal/config/config_test.go package config", "docs/guide.md # Guide", "docs/api.md # API",
		"docs/logo.png", "package.json {}", "package-lock.json {}", "tsconfig.json {}", "src/index.ts export {}", "src/api.ts export {}", "src/api.test.ts export {}", "pyproject.toml [project]", "scripts/import.py import csv",
		"tests/test_app.py import pytest", "Makefile test:", "README.md # App", "data/users.csv id,name", "data/users_old.csv id,name", "data/orders.csv id,user", "config/default.json {}", "config/production.json {}",
		"config/features.json []", "config/default.yaml a: 1", "config/production.yaml a: 2", "logs/app.log ok", ".gitignore node_modules/\n.env\nlogs/", "node_modules/typescript/package.json {}",
	)
	git := exec.Command("bash", "-c", `git init -q -b main . && git add -A && git -c user.name=me -c user.email=me@example.com commit -qm first`)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("no git here: %v: %s", err, out)
	}
	writeFiles(t, dir, ".env KEY=canary")
	for i := range packages {
		writeFiles(t, dir, fmt.Sprintf("node_modules/p%d/index.js", i))
	}
	return dir
}

// Most everyday commands run without approval. The lists are by people who hadn't seen this package.
func TestEveryday(t *testing.T) {
	dir := exampleRepository(t, 3000)
	for _, tt := range []struct {
		file          string
		overlay, none float64
	}{{"harmless.txt", 0.98, 0.5}, {"everyday.txt", 0.95, 0.55}, {"everyday2.txt", 0.95, 0.55}} {
		for place, want := range map[permission.Place]float64{permission.Overlay: tt.overlay, permission.None: tt.none} {
			t.Run(fmt.Sprint(tt.file, " ", place), func(t *testing.T) {
				t.Parallel()
				lines := bashlab.ReadLines(t, "testdata/"+tt.file)
				var asks []string
				for _, l := range lines {
					if d, why := checkIn(dir, l.Text, permission.Rules{}, place); d.Verdict != tool.Allow && !d.Try {
						asks = append(asks, fmt.Sprintf("%s:%d: %s\n\t%s", tt.file, l.Number, l.Text, strings.Join(why, "\n\t")))
					}
				}
				share := 1 - float64(len(asks))/float64(len(lines))
				t.Logf("%.1f %% of %d run without approval\n%s", 100*share, len(lines), strings.Join(asks, "\n"))
				if share < want {
					t.Errorf("%.1f %% run without approval, want %.0f %%", 100*share, 100*want)
				}
			})
		}
	}
}
