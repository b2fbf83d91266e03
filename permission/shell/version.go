package shell

import (
	"maps"
	"slices"
	"strings"
)

// versioned are common tools that tell their version and do no more. Tools that look into the folder first for a
// version of themselves, for settings or for plugins to run (yarn, pnpm, gradle, mvn, dotnet, bazel, poetry, pytest,
// ansible, elixir), or that ask a server whether they are the newest (terraform, flutter, scala), are left out.
var versioned = map[string]string{
	"--version": "git node npm python python2 python3 pip pip3 ruby gem perl php rustc cargo rustup gcc g++ cc c++ clang clang++ make " +
		"gmake cmake ninja meson bash sh zsh fish curl wget tar gzip zip unzip docker docker-compose podman gh psql mysql sqlite3 redis-cli deno bun " +
		"tsc uv ruff black vim nvim emacs ghc julia shellcheck shfmt golangci-lint protoc buf fd fzf bat less nano rsync strace gdb lldb valgrind " +
		"aws systemctl xz bzip2 clangd rustfmt npx java javac clang-format nvcc R Rscript lua luajit",
	"-V":       "python python2 python3 pip pip3 ssh cargo rustc curl wget tmux",
	"-v":       "node npm ruby perl php gcc g++ lua nginx docker tsc",
	"-version": "ffmpeg ffprobe java javac",
	"version":  "go openssl zig helm",
}

// ToolchainFiles are files with which a folder tells the managers of versions (asdf, mise, proto, rustup) which program
// stands behind a name: it may be one of its own.
func ToolchainFiles() []string { return toolchainFiles }

var toolchainFiles = []string{
	".tool-versions", ".mise.toml", "mise.toml", "mise.local.toml", ".mise.local.toml", ".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml",
	".prototools", "rust-toolchain", "rust-toolchain.toml",
}

// VersionFiles are files with which a folder asks pyenv, rbenv and their kin for a version by its number. They run nothing of
// the folder's, but print a number that they do not know: a line of what the file leads to.
func VersionFiles() []string { return versionFiles }

var versionFiles = []string{".python-version", ".ruby-version", ".node-version", ".java-version", ".go-version"}

// proveVersion judges a question for a version: harmless where no file in the folder or above it chooses the program.
func (c *Command) proveVersion(name string) Proof {
	p := c.proved(nil)
	if !isVersioned(name) || p.Why != "" {
		return p // one of the everyday commands
	}
	if c.Dirs == nil {
		return Proof{Why: "its working directory is unknown"}
	}
	p.Versions, p.Tools = c.Dirs, []string{c.Name()}
	return p
}

// VersionManagers are names of programs that stand behind the names of tools, or of the folders of such programs: they
// install or choose a tool. /usr/bin/cargo may be a link to rustup, which makes directories in the home directory.
func VersionManagers() []string { return versionManagers }

var versionManagers = strings.Fields("rustup rustup-init asdf mise rtx volta volta-shim proto proto-shim pyenv rbenv nodenv jenv goenv phpenv aqua-proxy corepack shims")

// isVersioned reports whether a tool is one of those that tell their version.
func isVersioned(name string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(versioned)), func(names string) bool { return slices.Contains(strings.Fields(names), name) })
}

// isVersion reports whether c asks a tool for its version, or one of the everyday commands for its version or help.
func (c *Command) isVersion(name string) bool {
	if slices.ContainsFunc(c.Words, func(w Word) bool { return w.Kind != Literal }) {
		return false
	}
	switch len(c.Words) {
	case 2:
		flag := c.Words[1].Text
		if s, known := specs[name]; known && (flag == "--version" || flag == "--help" && name != "git") {
			return !s.raw
		}
		return slices.Contains(strings.Fields(versioned[flag]), name)
	case 3:
		return c.Words[1].Text == "version" && name == "helm" && c.Words[2].Text == "--short"
	}
	return false
}

// asksVersion reports whether c seems to ask a tool for its version.
func (c *Command) asksVersion() bool {
	return len(c.Words) == 2 && slices.Contains([]string{"--version", "-v", "-V", "-version", "version"}, c.Words[1].Text)
}
