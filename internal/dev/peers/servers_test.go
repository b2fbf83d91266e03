package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

func TestFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	d := open(t, map[string]discover.Server{"fs": npmServer(t, "filesystem", dir)}, discover.Options{}, nil)
	file := filepath.Join(dir, "a.txt")
	d.want(t, "fs__write_file", fmt.Sprintf(`{"path":%q,"content":"one\ntwo\n"}`, file), "a.txt")
	d.want(t, "fs__read_text_file", fmt.Sprintf(`{"path":%q,"head":1}`, file), "one")
	d.want(t, "fs__edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"two","newText":"three"}]}`, file), "three")
	if got, err := os.ReadFile(file); string(got) != "one\nthree\n" {
		t.Errorf("%q %v", got, err)
	}
	o := d.call(t.Context(), "fs__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(other, "b.txt")))
	if o.Error == nil || o.Error.Type != discover.FailedMCP || !strings.Contains(o.Error.Message, "denied") {
		t.Errorf("%+v", o)
	}
	// Audio, which the everything server has none of.
	wav := filepath.Join(dir, "a.wav")
	if err := os.WriteFile(wav, []byte("RIFF----WAVEfmt "), 0o600); err != nil {
		t.Fatal(err)
	}
	o = d.call(t.Context(), "fs__read_media_file", fmt.Sprintf(`{"path":%q}`, wav))
	found := false
	for _, p := range o.Result.Content {
		m, ok := p.(tool.Media)
		found = found || ok && m.MIMEType == "audio/wav" && bytes.HasPrefix(m.Data, []byte("RIFF"))
	}
	if !found {
		t.Errorf("%s: %.300s", o.Status, o.Result.Text())
	}
}

// Only directories that the user configured are sent to a server: the filesystem server would open it.
func TestRootsOnlyAsAgreed(t *testing.T) {
	dir, agreed := t.TempDir(), t.TempDir()
	conf := npmServer(t, "filesystem", dir)
	d := open(t, map[string]discover.Server{"fs": conf}, discover.Options{Dir: agreed}, nil)
	if o := d.want(t, "fs__list_allowed_directories", `{}`, filepath.Base(dir)); strings.Contains(o.Result.Text(), agreed) {
		t.Error(o.Result.Text())
	}
	conf.Roots = []string{agreed}
	d = open(t, map[string]discover.Server{"fs": conf}, discover.Options{}, nil)
	waittest.Until(t, "the agreed folder is taken over", func() bool {
		return strings.Contains(d.call(t.Context(), "fs__list_allowed_directories", `{}`).Result.Text(), agreed)
	})
}

func TestSequentialThinking(t *testing.T) {
	d := open(t, map[string]discover.Server{"seq": npmServer(t, "sequential-thinking")}, discover.Options{}, nil)
	d.want(t, "sequentialthinking", `{"thought":"first","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}`, `"thoughtNumber": 1`)
}

// The memory server is killed: it is started again, and what changes nothing works at once. The second session starts
// nothing before its first call, because the tools are known.
func TestMemoryKilledAndCached(t *testing.T) {
	state := t.TempDir()
	conf := npmServer(t, "memory")
	conf.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(state, "memory.jsonl")}
	servers := map[string]discover.Server{"mem": conf}
	d := open(t, servers, discover.Options{State: state}, nil)
	d.want(t, "mem__create_entities", `{"entities":[{"name":"Adze","entityType":"tool","observations":["shapes wood"]}]}`, "Adze")
	pids := children(t, "server-memory")
	if len(pids) != 1 {
		t.Fatalf("%d processes", len(pids))
	}
	if p, err := os.FindProcess(pids[0]); err != nil || p.Kill() != nil {
		t.Fatal("it cannot be killed")
	}
	d.want(t, "mem__search_nodes", `{"query":"wood"}`, "Adze")
	if st := d.List()[0]; st.Starts != 2 || st.State != discover.Ready {
		t.Errorf("%+v", st)
	}
	d.Close()
	if left := children(t, "server-memory"); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	d = open(t, servers, discover.Options{State: state}, nil)
	if st := d.List()[0]; st.State != discover.Cached || len(st.Tools) == 0 {
		t.Fatalf("%+v", st)
	}
	if left := children(t, "server-memory"); len(left) != 0 {
		t.Error("it was started")
	}
	o := d.want(t, "mem__read_graph", `{}`, "shapes wood")
	var graph struct{ Entities []json.RawMessage }
	if err := json.Unmarshal([]byte(o.Result.Text()), &graph); err != nil || len(graph.Entities) != 1 {
		t.Errorf("%v: %s", err, o.Result.Text())
	}
}

// children returns the processes below this one whose command line holds a word.
func children(t *testing.T, word string) []int {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(procs) == 0 {
		t.Skip("there is no /proc")
	}
	var pids []int
	for _, path := range procs {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && strings.Contains(string(line), word) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
