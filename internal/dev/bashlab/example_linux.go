package bashlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// exampleFiles are the files of the example, with their text.
var exampleFiles = []string{
	"go.mod module example.com/app", "go.sum", "cmd/server/main.go package main", "cmd/tool/main.go package main",
	"internal/server/server.go package server", "internal/server/handler.go package server",
	"internal/config/config.go package config", "internal/config/config_test.go package config",
	"docs/guide.md # Guide",
	"docs/api.md # API", "docs/logo.png", "package.json {}", "package-lock.json {}", "tsconfig.json {}",
	"src/index.ts export {}", "src/api.ts export {}", "src/api.test.ts export {}", "pyproject.toml [project]",
	"scripts/import.py import csv", "tests/test_app.py import pytest", "Makefile test:", "README.md # App",
	"data/users.csv id,name", "data/users_old.csv id,name", "data/orders.csv id,user", "config/default.json {}",
	"config/production.json {}", "config/features.json []", "config/default.yaml a: 1", "config/production.yaml a: 2",
	"logs/app.log ok", ".gitignore node_modules/\n.env\nlogs/", "node_modules/typescript/package.json {}",
}

// MakeExample makes a repository in Go, TypeScript and Python, with packages that git ignores and a secret.
func MakeExample(dir string, packages int) error {
	if err := writeFiles(dir, exampleFiles...); err != nil {
		return err
	}
	const commit = "git init -q -b main . && git add -A && git -c user.name=me -c user.email=me@example.com " +
		"commit -qm first"
	git := exec.Command("bash", "-c", commit)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		return fmt.Errorf("make the repository: %w: %s", err, out)
	}
	ignored := []string{".env KEY=" + Canary}
	for i := range packages {
		ignored = append(ignored, fmt.Sprintf("node_modules/p%d/index.js", i))
	}
	return writeFiles(dir, ignored...)
}

// writeFiles writes files, each with its name, a space and its text.
func writeFiles(dir string, files ...string) error {
	for _, f := range files {
		name, text, _ := strings.Cut(f, " ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}
