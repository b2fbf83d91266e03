package cli

import (
	"os/exec"
	"runtime"
)

// openBrowser opens an address if this system has a known way to. The address is printed anyway, so that nothing is
// said when there is none.
func openBrowser(address string) {
	argv := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		argv[0] = "open"
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
