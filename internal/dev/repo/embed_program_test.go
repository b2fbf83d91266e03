package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// outside makes a module outside the repository, whose replace line names the repository, with a program.
func outside(t *testing.T, program string) (dir string) {
	t.Helper()
	repository, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n") // the versions of the repository
	dir = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/agent\n" + rest + "\nrequire github.com/adze-dev/adze v0.0.0\nreplace github.com/adze-dev/adze => " + repository + "\n",
		"go.sum": string(sum), "main.go": program,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// built builds the program of a module, and returns its path.
func built(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath"}, flags...), "-o", "agent", ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "agent")
}

// weights are programs with the imports in the rows of docs/embedding.md. Each uses what it imports.
var weights = []struct{ row, imports, use string }{
	{"", ``, ``},
	{"`tool`", `"github.com/adze-dev/adze/tool"`, `(&tool.Executor{}).Run(context.Background(), tool.Call{})`},
	{"`builtin`, `permission`", `"github.com/adze-dev/adze/builtin"; "github.com/adze-dev/adze/tool"; "github.com/adze-dev/adze/permission"
		"github.com/adze-dev/adze/permission/ondisk"`, `set, _ := builtin.New(builtin.Options{Helper: builtin.Main()})
		policy := permission.New(permission.World{Disk: ondisk.New(nil)}, permission.Default)
		x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge}
		x.Run(context.Background(), tool.Call{})`},
	{"`adze`", `"github.com/adze-dev/adze"`, `adze.Main(); a, _ := adze.New(adze.Dir("."))
		for range a.Run(context.Background(), "") {}`},
}

// The modules of others and the size that a program gets with each package are those of docs/embedding.md.
func TestWeight(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("builds programs for Linux amd64")
	}
	page, err := os.ReadFile("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	hello := int64(0)
	for _, w := range weights {
		dir := outside(t, fmt.Sprintf("package main\nimport (\"context\"; \"fmt\"; %s)\nfunc main() { fmt.Println(context.Background()); %s }", w.imports, w.use))
		info, err := os.Stat(built(t, dir, "-ldflags=-s -w"))
		if err != nil {
			t.Fatal(err)
		}
		if w.row == "" {
			hello = info.Size()
			continue
		}
		cmd := exec.Command("go", "version", "-m", "agent")
		cmd.Dir = dir
		modules, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		others := strings.Count(string(modules), "\tdep\t") - 1 // Adze
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(w.row) + ` \| (\d+) \| less than (\d+) MB \|$`).FindSubmatch(page)
		if row == nil {
			t.Errorf("docs/embedding.md has no row for %s", w.row)
			continue
		}
		most, _ := strconv.ParseInt(string(row[2]), 10, 64)
		if added := info.Size() - hello; string(row[1]) != fmt.Sprint(others) || added > most*1_000_000 || added < (most-3)*1_000_000 {
			t.Errorf("%s: %d modules and %d bytes, docs/embedding.md has %s", w.row, others, added, row[0])
		}
	}
}
