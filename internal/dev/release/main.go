// Command release builds the files of a release: archives for each platform, packages for Debian and Fedora, a list of
// the modules in them, a Homebrew formula and checksums.
//
//	go run ./internal/dev/release -version v1.2.0 -out dist
//
// Two runs on the same commit give the same bytes: paths are trimmed, and all times are that of the commit.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.version, "version", "", "version of the release, such as v1.2.0")
	flag.StringVar(&o.out, "out", "dist", "directory for the files; it is created")
	targets := flag.String("targets", strings.Join(allTargets(), ","), "platforms, separated by commas")
	flag.StringVar(&o.nfpm, "nfpm", "", "command that runs nfpm, for .deb and .rpm packages; empty: none are built")
	flag.Parse()
	o.targets = strings.Split(*targets, ",")
	if err := release(o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type options struct {
	version string
	out     string
	targets []string
	nfpm    string
}

func allTargets() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// release builds everything.
func release(o options) error {
	if !versionForm.MatchString(o.version) {
		return fmt.Errorf("-version: expected a version such as v1.2.0, got %q", o.version)
	}
	changes, err := output(nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		o.version += "-dirty" // the build isn't the commit
		fmt.Fprintln(os.Stderr, "release: the tree has changes that are not committed; the version is", o.version)
	}
	seconds, err := output(nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	shared, err := sharedFiles(o)
	if err != nil {
		return err
	}
	r := &run{options: o, at: time.Unix(unix, 0).UTC(), shared: shared}
	for _, target := range o.targets {
		if err := r.target(target); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	if err := r.unversioned(); err != nil {
		return err
	}
	if err := r.finish(); err != nil {
		return err
	}
	return r.checksums()
}

// run is the state of a release build.
type run struct {
	options
	at     time.Time // time of all files
	shared []file    // in every archive
	files  []string  // names of the files that were written
}

// number returns the version without its v.
func (r *run) number() string { return strings.TrimPrefix(r.version, "v") }

// target builds the program for a platform, its archive and its packages.
func (r *run) target(target string) error {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return errors.New("expected a platform such as linux/amd64")
	}
	program, err := build(r.version, system, arch, "adze", ".")
	if err != nil {
		return err
	}
	fleet, err := build(r.version, system, arch, "adze-fleet", "fleet")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("adze_%s_%s_%s", r.number(), system, arch)
	files := append(slices.Clone(r.shared), program, fleet)
	var packed []byte
	if system == "windows" {
		name += ".zip"
		packed, err = zipped(files, r.at)
	} else {
		name += ".tar.gz"
		packed, err = tarred(files, r.at)
	}
	if err == nil {
		err = r.write(name, packed)
	}
	if err != nil || system != "linux" || r.nfpm == "" {
		return err
	}
	return r.packages(arch, files)
}

// unversioned writes each archive and package under a name without the version too, so that an address of the newest
// release stays the same.
func (r *run) unversioned() error {
	for _, name := range slices.Clone(r.files) {
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err == nil {
			err = r.write(strings.Replace(name, "_"+r.number()+"_", "_", 1), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish writes the files of the whole release.
func (r *run) finish() error {
	modules, err := listModules()
	if err != nil {
		return err
	}
	list, err := spdx(r.version, r.at, modules)
	if err != nil {
		return err
	}
	if err := r.write(fmt.Sprintf("adze_%s.spdx.json", r.number()), list); err != nil {
		return err
	}
	if formula := r.formula(); formula != "" {
		return r.write("adze.rb", []byte(formula))
	}
	return nil
}

func (r *run) write(name string, content []byte) error {
	r.files = append(r.files, name)
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}

// sum returns the SHA-256 of a file of the release.
func (r *run) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.out, name))
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *run) checksums() error {
	var b strings.Builder
	slices.Sort(r.files)
	for _, name := range r.files {
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return r.write("SHA256SUMS", []byte(b.String()))
}

// build compiles a program for a platform. module is the directory of its module.
func build(version, system, arch, name, module string) (file, error) {
	dir, err := os.MkdirTemp("", "adze-release-")
	if err != nil {
		return file{}, err
	}
	defer os.RemoveAll(dir)
	source := "./cmd/" + name
	if system == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", "-C", module, "build", "-trimpath", "-tags=nethttpomithttp2",
		"-gcflags=github.com/adze-dev/adze/internal/app/...=-l", "-buildvcs=false",
		"-ldflags", "-s -w -funcalign=16 -X main.version="+version, "-o", path, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return file{}, fmt.Errorf("go build: %w", err)
	}
	content, err := os.ReadFile(path)
	return file{name: name, mode: 0o755, content: content}, err
}

// output returns what a command prints, without the last newline. env is added to its environment.
func output(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
