package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Shell is the program that runs command lines.
type Shell struct {
	Path string
	Bash bool // others read a line differently, so that what is known of it for bash may be wrong
}

// Name returns the name of the program: "bash", "sh", "pwsh", "powershell", "cmd".
func (s Shell) Name() string {
	return strings.TrimSuffix(strings.ToLower(s.Path[strings.LastIndexAny(s.Path, `/\`)+1:]), ".exe")
}

func (s Shell) note() string {
	if s.Bash || s.Path == "" {
		return ""
	}
	return "bash not found: commands run with " + s.Path + ", and Adze can't check them, so they require approval."
}

// Texts around a line of PowerShell: its output is UTF-8 without progress bars, and its exit code is that of the last
// program, which -Command makes 1.
const (
	beforePowerShell = "$ProgressPreference = 'SilentlyContinue'; " +
		"$OutputEncoding = [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false\n"
	afterPowerShell = "\nif (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE }; exit 1 }"
)

// argv returns the command line of the shell for a line that fits into an argument. raw is the command line of Windows,
// if it can't be made of words: cmd doesn't know how others quote.
func (s Shell) argv(line string) (argv []string, raw string, err error) {
	switch s.Name() {
	case "pwsh", "powershell":
		return []string{s.Path, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command",
			beforePowerShell + line + afterPowerShell}, "", nil
	case "cmd":
	default:
		return []string{s.Path, "-c", line}, "", nil
	}
	if strings.ContainsAny(line, "\r\n") {
		return nil, "", errors.New("cmd can't run several lines; install Git for Windows or PowerShell, " +
			"or join the lines with &")
	}
	return []string{s.Path, "/d", "/s", "/c", line}, `"` + s.Path + `" /d /s /c "` + line + `"`, nil
}

// shellFinder looks for a shell. It is data, so that the rules of one system can be tested on another.
type shellFinder struct {
	windows bool
	getenv  func(string) string
	runs    func(path string) bool   // it is a program
	real    func(path string) string // without links
	avoid   []string                 // directories whose programs aren't trusted: the workspace
}

// findShell returns bash, or else another shell of the system.
func findShell(avoid []string) (Shell, error) {
	real := func(path string) string {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			return p
		}
		return path
	}
	f := shellFinder{windows: runtime.GOOS == "windows", getenv: os.Getenv, runs: runs, real: real}
	for _, dir := range avoid {
		f.avoid = append(f.avoid, dir, real(dir))
	}
	return f.find()
}

func runs(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && (st.Mode()&0o111 != 0 || runtime.GOOS == "windows")
}

func (f shellFinder) find() (Shell, error) {
	places, name, other := f.unixPlaces("bash"), "bash", f.unixPlaces("sh")
	if f.windows {
		places, name, other = f.windowsPlaces(), "bash.exe", append(f.powerShells(), f.getenv("ComSpec"))
	}
	for _, path := range places {
		// busybox can be called bash, and is not.
		if f.usable(path) && strings.HasPrefix(Shell{Path: f.real(path)}.Name(), "bash") {
			return Shell{Path: path, Bash: true}, nil
		}
	}
	for _, path := range other {
		if f.usable(path) {
			return Shell{Path: path}, nil
		}
	}
	return Shell{}, fmt.Errorf("no shell found: neither %s nor another one is in PATH or in the usual directories",
		name)
}

// unixPlaces are the paths of a shell. Only absolute directories of PATH count: a relative one would run a program of
// the working directory.
func (f shellFinder) unixPlaces(name string) []string {
	var places []string
	for _, dir := range systemDirs() {
		places = append(places, dir+name)
	}
	for dir := range strings.SplitSeq(f.getenv("PATH"), ":") {
		if strings.HasPrefix(dir, "/") {
			places = append(places, strings.TrimRight(dir, "/")+"/"+name)
		}
	}
	return places
}

// windowsPlaces are the paths of bash in PATH, beside a git in PATH, and where Git for Windows, scoop and MSYS2 are
// installed.
func (f shellFinder) windowsPlaces() []string {
	var places []string
	add := func(root string, below ...string) {
		for _, name := range below {
			if root = strings.TrimRight(root, `\`); root != "" {
				places = append(places, root+name)
			}
		}
	}
	for dir := range strings.SplitSeq(f.getenv("PATH"), ";") {
		dir = strings.TrimRight(strings.ReplaceAll(strings.Trim(dir, `"`), "/", `\`), `\`)
		add(dir, `\bash.exe`)
		// Git\cmd
		if i := strings.LastIndexByte(dir, '\\'); i > 0 && f.trusted(dir+`\git.exe`) && f.runs(dir+`\git.exe`) {
			add(dir[:i], `\bin\bash.exe`, `\usr\bin\bash.exe`)
		}
	}
	for _, name := range []string{"ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"} {
		add(f.getenv(name), `\Git\bin\bash.exe`, `\Git\usr\bin\bash.exe`)
	}
	add(f.getenv("LOCALAPPDATA"), `\Programs\Git\bin\bash.exe`, `\Programs\Git\usr\bin\bash.exe`)
	add(f.getenv("USERPROFILE"), `\scoop\apps\git\current\bin\bash.exe`, `\scoop\apps\git\current\usr\bin\bash.exe`)
	add(f.getenv("SystemDrive"), `\msys64\usr\bin\bash.exe`, `\msys32\usr\bin\bash.exe`, `\Git\bin\bash.exe`)
	return places
}

// powerShells are the paths of PowerShell: the current one in PATH and where its installer puts it, then Windows' own.
func (f shellFinder) powerShells() []string {
	var places []string
	for dir := range strings.SplitSeq(f.getenv("PATH"), ";") {
		dir = strings.TrimRight(strings.ReplaceAll(strings.Trim(dir, `"`), "/", `\`), `\`)
		places = append(places, dir+`\pwsh.exe`)
	}
	for _, name := range []string{"ProgramFiles", "ProgramW6432"} {
		places = append(places, f.getenv(name)+`\PowerShell\7\pwsh.exe`)
	}
	return append(places, f.systemPowerShell())
}

// systemPowerShell is the path of Windows' own PowerShell.
func (f shellFinder) systemPowerShell() string {
	return f.getenv("SystemRoot") + `\System32\WindowsPowerShell\v1.0\powershell.exe`
}

// systemDirs are directories whose programs are trusted, even if they are the workspace.
func systemDirs() []string { return []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} }

// usable reports whether a path is a program that may be the shell.
func (f shellFinder) usable(path string) bool {
	own := !f.windows && slices.Contains(systemDirs(), path[:strings.LastIndexByte(path, '/')+1])
	return path != "" && (own || f.trusted(path) && f.trusted(f.real(path))) && f.runs(path)
}

// trusted reports whether a program isn't one of the workspace and, on Windows, not the bash of another system:
// Windows' own starts Linux.
func (f shellFinder) trusted(path string) bool {
	avoid := f.avoid
	if f.windows {
		drive := len(path) > 2 && path[1] == ':' && path[2] == '\\'
		if !drive || strings.Contains(strings.ToLower(path), `\windowsapps\`) {
			return false // relative, or on another machine
		}
		if path != f.getenv("ComSpec") && !strings.EqualFold(path, f.systemPowerShell()) {
			avoid = append(slices.Clip(avoid), f.getenv("SystemRoot"), f.getenv("windir"))
		}
	}
	return !slices.ContainsFunc(avoid, func(dir string) bool { return f.below(path, dir) })
}

// below reports whether a path is in a directory.
func (f shellFinder) below(path, dir string) bool {
	separator := "/"
	if f.windows {
		path, dir, separator = strings.ToLower(path), strings.ToLower(strings.ReplaceAll(dir, "/", `\`)), `\`
	}
	dir = strings.TrimRight(dir, separator)
	return dir != "" && strings.HasPrefix(path, dir+separator)
}
