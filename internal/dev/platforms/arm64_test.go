package platforms

import (
	"testing"
)

// linux/arm64 in qemu, which makes system calls of this machine's kernel. It knows neither Landlock nor seccomp filters, and a
// program of arm64 can't start another one: the sandbox can't be tested this way.
func TestArm64(t *testing.T) {
	wanted(t, "arm64", "qemu-aarch64-static")
	m := &machine{system: "linux", arch: "arm64", emulator: []string{"qemu-aarch64-static"}}
	m.open(t)
	m.run(t, "arm64.txt", []story{
		{"program", true, program},
		{"demo", false, demoWorks},
		{"file tools", true, fileTools},
		{"-p", true, prompt},
		{"sessions", false, sessions},
		{"undo", false, undo},
		{"MCP", false, protocol},
		{"commands", false, bashCommands},
		{"archive", false, archive},
	})
}

func TestArm64Library(t *testing.T) {
	wanted(t, "arm64", "qemu-aarch64-static")
	(&machine{system: "linux", arch: "arm64", emulator: []string{"qemu-aarch64-static"}}).test(t, arm64Units)
}

// demoWorks: the whole task of the demo is done.
func demoWorks(t *testing.T, w *workspace) {
	w.ok(t, []string{"demo"}, "Done: the command's change was kept, and undone")
}

// bashCommands: without a sandbox, a command requires approval, and a timeout ends it.
func bashCommands(t *testing.T, w *workspace) {
	w.ok(t, call("run_shell_command", map[string]any{"command": `echo "a  b" | tr a c`}), "c  b")
	r := w.adze(t, call("run_shell_command", map[string]any{"command": "sleep 600", "timeout": 500})...)
	r.has(t, []string{"sleep"}, "timed out")
	w.adze(t, "tool", "call", "run_shell_command", `{"command":"touch made"}`)
	w.absent(t, "made")
}
