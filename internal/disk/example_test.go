package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/disk"
)

func Example() {
	top, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(top)
	for name, text := range map[string]string{
		".git/HEAD":        "ref: refs/heads/main\n",
		".git/objects/x":   "",
		".git/refs/x":      "",
		".git/config":      "[core]\n\tfsmonitor = ./watch.sh\n",
		"conf/.env.local":  "TOKEN=…\n",
		"conf/settings.go": "package conf\n",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			fmt.Println(err)
			return
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			fmt.Println(err)
			return
		}
	}
	d := disk.New(disk.Options{Roots: []string{top}, Patience: time.Minute})
	fmt.Println(d.Git(filepath.Join(top, "conf")))
	secret, _ := d.Secret(top, disk.Search{})
	fmt.Println(filepath.Base(secret))
	// Output:
	// ./watch.sh (core.fsmonitor) true
	// .env.local
}
