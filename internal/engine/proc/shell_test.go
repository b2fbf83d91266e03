package proc

import (
	"strings"
	"testing"
)

// Which program runs commands on each system: bash, wherever it usually is, but not one of the workspace, not a relative
// one, not Windows' own, which starts Linux, and not busybox with the name of bash.
func TestFindShell(t *testing.T) {
	const git = `C:\Program Files\Git`
	windows := map[string]string{
		"SystemRoot": `C:\Windows`, "windir": `C:\Windows`, "ComSpec": `C:\Windows\system32\cmd.exe`, "SystemDrive": "C:",
		"ProgramFiles": `C:\Program Files`, "LOCALAPPDATA": `C:\Users\me\AppData\Local`, "USERPROFILE": `C:\Users\me`,
	}
	cmd := Shell{Path: `C:\Windows\system32\cmd.exe`}
	const own, pwsh = `C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`, `C:\Program Files\PowerShell\7\pwsh.exe`
	for _, c := range []struct {
		name, path string
		windows    bool
		programs   []string          // that exist
		links      map[string]string // what they are
		want       Shell
	}{
		{"linux", "/opt/bin", false, []string{"/bin/bash", "/bin/sh"}, nil, Shell{"/bin/bash", true}},
		{"in PATH", "/nix/bin:/opt/bin/", false, []string{"/opt/bin/bash", "/bin/sh"}, nil, Shell{"/opt/bin/bash", true}},
		{"a link", "", false, []string{"/bin/bash"}, map[string]string{"/bin/bash": "/opt/bash-5.3/bin/bash-5.3"}, Shell{"/bin/bash", true}},
		{"busybox", "", false, []string{"/bin/bash", "/bin/sh"}, map[string]string{"/bin/bash": "/bin/busybox"}, Shell{"/bin/sh", false}},
		{"dash", "/usr/bin", false, []string{"/bin/sh"}, map[string]string{"/bin/sh": "/usr/bin/dash"}, Shell{"/bin/sh", false}},
		{"sh is bash", "", false, []string{"/bin/sh"}, map[string]string{"/bin/sh": "/x/bash"}, Shell{"/bin/sh", false}}, // in another mode
		{"workspace", "/ws/bin", false, []string{"/ws/bin/bash", "/bin/sh"}, nil, Shell{"/bin/sh", false}},
		{"link into the workspace", "/l", false, []string{"/l/bash", "/bin/sh"}, map[string]string{"/l/bash": "/ws/bash"}, Shell{"/bin/sh", false}},
		{"the system is the workspace", "", false, []string{"/bin/bash"}, map[string]string{"/bin/bash": "/ws/bin/bash"}, Shell{"/bin/bash", true}},
		{"relative", "bin:.", false, []string{"bin/bash", "./bash", "/bin/sh"}, nil, Shell{"/bin/sh", false}},
		{"nothing", "", false, nil, nil, Shell{}},

		{"git for windows", "", true, []string{git + `\bin\bash.exe`, cmd.Path}, nil, Shell{git + `\bin\bash.exe`, true}},
		{"only usr", "", true, []string{git + `\usr\bin\bash.exe`, cmd.Path}, nil, Shell{git + `\usr\bin\bash.exe`, true}},
		{"beside git", `C:\Windows\system32;"D:\tools\Git\cmd\"`, true, []string{`D:\tools\Git\cmd\git.exe`, `D:\tools\Git\bin\bash.exe`, `C:\Windows\system32\bash.exe`}, nil,
			Shell{`D:\tools\Git\bin\bash.exe`, true}},
		{"of one user", "", true, []string{`C:\Users\me\AppData\Local\Programs\Git\bin\bash.exe`}, nil, Shell{`C:\Users\me\AppData\Local\Programs\Git\bin\bash.exe`, true}},
		{"scoop", "", true, []string{`C:\Users\me\scoop\apps\git\current\bin\bash.exe`}, nil, Shell{`C:\Users\me\scoop\apps\git\current\bin\bash.exe`, true}},
		{"msys", "", true, []string{`C:\msys64\usr\bin\bash.exe`}, nil, Shell{`C:\msys64\usr\bin\bash.exe`, true}},
		{"cygwin in PATH", `C:/cygwin64/bin`, true, []string{`C:\cygwin64\bin\bash.exe`}, nil, Shell{`C:\cygwin64\bin\bash.exe`, true}},
		{"of WSL", `c:\windows\System32;C:\Users\me\AppData\Local\Microsoft\WindowsApps`, true,
			[]string{`c:\windows\System32\bash.exe`, `C:\Users\me\AppData\Local\Microsoft\WindowsApps\bash.exe`, cmd.Path}, nil, cmd},
		{"windows workspace", `C:\WS\bin;C:\ws\cmd`, true, []string{`C:\WS\bin\bash.exe`, `C:\ws\cmd\git.exe`, `C:\ws\bin\bash.exe`, cmd.Path}, nil, cmd},
		{"windows without git", `C:\Windows\system32`, true, []string{own, cmd.Path}, nil, Shell{Path: own}},
		{"a current PowerShell", "", true, []string{own, pwsh, cmd.Path}, nil, Shell{Path: pwsh}},
		{"PowerShell in PATH", `"D:/ps/"`, true, []string{own, pwsh, `D:\ps\pwsh.exe`, cmd.Path}, nil, Shell{Path: `D:\ps\pwsh.exe`}},
		{"PowerShell and git", "", true, []string{own, pwsh, git + `\bin\bash.exe`}, nil, Shell{git + `\bin\bash.exe`, true}},
		{"PowerShell of the workspace", `C:\ws;bin;\\server\share`, true, []string{`C:\ws\pwsh.exe`, `bin\pwsh.exe`, `\\server\share\pwsh.exe`, own, cmd.Path}, nil, Shell{Path: own}},
		{"a link to the workspace on windows", `D:\ps`, true, []string{`D:\ps\pwsh.exe`, cmd.Path}, map[string]string{`D:\ps\pwsh.exe`: `C:\WS\pwsh.exe`}, cmd},
		{"another machine", `\\server\share`, true, []string{`\\server\share\bash.exe`, cmd.Path}, nil, cmd},
		{"relative on windows", `bin;.;\bin`, true, []string{`bin\bash.exe`, `.\bash.exe`, `\bin\bash.exe`, cmd.Path}, nil, cmd},
	} {
		avoid := "/ws"
		if c.windows {
			avoid = `C:\ws`
		}
		f := shellFinder{
			windows: c.windows, avoid: []string{avoid},
			getenv: func(name string) string {
				switch {
				case name == "PATH":
					return c.path
				case c.windows:
					return windows[name]
				}
				return ""
			},
			runs: func(path string) bool {
				for _, p := range c.programs {
					if p == path || c.windows && strings.EqualFold(p, path) {
						return true
					}
				}
				return false
			},
			real: func(path string) string {
				if to := c.links[path]; to != "" {
					return to
				}
				return path
			},
		}
		if got, err := f.find(); got != c.want || (err != nil) != (c.want.Path == "") {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// cmd got its line with quotes escaped as other programs read them: git commit -m "fix bug" had two broken words.
func TestShellArgv(t *testing.T) {
	for _, c := range []struct{ shell, line, want, raw string }{
		{"/bin/bash", `echo "a b"`, `/bin/bash -c echo "a b"`, ""},
		{`C:\Git\bin\bash.exe`, `echo "a b"`, `C:\Git\bin\bash.exe -c echo "a b"`, ""},
		{`C:\Windows\System32\CMD.EXE`, `git commit -m "fix bug" & echo 'x'`, `C:\Windows\System32\CMD.EXE /d /s /c git commit -m "fix bug" & echo 'x'`,
			`"C:\Windows\System32\CMD.EXE" /d /s /c "git commit -m "fix bug" & echo 'x'"`},
	} {
		argv, raw, err := Shell{Path: c.shell}.argv(c.line)
		if strings.Join(argv, " ") != c.want || raw != c.raw || err != nil {
			t.Errorf("%q, %q, %v", argv, raw, err)
		}
	}
	if _, _, err := (Shell{Path: `C:\cmd.exe`}).argv("a\nb"); err == nil {
		t.Error("cmd runs the first of several lines")
	}
}

// PowerShell isn't here, so this is the text that it gets: the line is a separate line, so that a comment at its end
// hides nothing, and it isn't "-", which means stdin.
func TestPowerShellText(t *testing.T) {
	for _, path := range []string{`C:\Windows\System32\WindowsPowerShell\v1.0\PowerShell.exe`, `D:\ps\pwsh.exe`} {
		for _, line := range []string{`git commit -m "fix bug"`, "dir # all", "-", "a\nb"} {
			argv, raw, err := Shell{Path: path}.argv(line)
			if err != nil || raw != "" || len(argv) != 6 || strings.Join(argv[:5], " ") != path+" -NoLogo -NoProfile -NonInteractive -Command" {
				t.Fatalf("%q, %q, %v", argv, raw, err)
			}
			before, after, found := strings.Cut(argv[5], "\n"+line+"\n")
			if !found || !strings.Contains(before, "UTF8Encoding $false") || after != "if (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE }; exit 1 }" {
				t.Errorf("%q", argv[5])
			}
		}
	}
}
