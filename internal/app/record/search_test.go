package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// desk returns the sessions of a new home with a session of many prompts, and the messages for the user.
func desk(t *testing.T, id string) (Sessions, *[]string) {
	t.Helper()
	var told []string
	d := project.Directory{Home: t.TempDir(), Path: "/w", Env: project.Env{Tell: func(text string) { told = append(told, text) }}}
	all := Of(d)
	f, err := all.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	w := journal.NewWriter(f, all.Store(), journal.State{})
	data := []journal.Data{journal.Opened{ID: id, CWD: "/w", Model: "m"}}
	for i := range 300 {
		data = append(data, journal.Message{Message: model.Prompt(fmt.Sprintf("prompt %d\n%x\nthe Needle in line 3 %s", i, i*7919, strings.Repeat("long ", 60)))})
	}
	for _, one := range data {
		if _, err := w.Write("", one); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return all, &told
}

const deskID = "123e4567-e89b-42d3-a456-426614174000"

// Hits show each line with a word and a line before it, and mark what is omitted of long ones.
func TestHitLines(t *testing.T) {
	all, _ := desk(t, deskID)
	words := []string{"needle", "PROMPT 7\n"}
	hits, err := all.SearchText(words)
	if err != nil {
		t.Fatal(err)
	}
	text, err := HitLines(hits, words, time.Now())
	if err != nil || len(hits) != 1 || len(hits[0].Texts) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(lines[0], "123e4567  ") || len(lines) != 6 || lines[2] != "    prompt 7" || lines[3] != "    d889" ||
		!strings.HasPrefix(lines[4], "    the Needle in line 3 long") || !strings.HasSuffix(lines[4], "…") || len(lines[4]) > 200 {
		t.Errorf("%q", lines)
	}
}

// Every reader of a damaged archive says so. If nothing of it could be read, exports, forks and replays blamed
// journal.jsonl once, a diff was empty, and the usage of such a session was missing without a word.
func TestDamagedArchiveOfEachReader(t *testing.T) {
	all, told := desk(t, deskID)
	if err := all.Archive(0, time.Now().Add(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(all.Dir(deskID), "journal.jsonl.gz")
	info, err := os.Stat(packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{info.Size() / 2, 30, 0, -1} {
		why := "journal.jsonl.gz can't be read to its end: "
		if err := os.Truncate(packed, max(size, 0)); err != nil {
			t.Fatal(err)
		}
		if size < 0 {
			os.Remove(packed)
		}
		var b strings.Builder
		err := all.Export(&b, deskID, "md")
		switch whole := size > 1000; {
		case whole && (err != nil || !strings.Contains(b.String(), "prompt 7") || !strings.Contains(b.String(), why)):
			t.Errorf("%d: %v: %.500s", size, err, b.String())
		case !whole && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("%d: export: %v", size, err)
		}
		errs := map[string]error{}
		_, errs["search"] = all.SearchText([]string{"not there"})
		_, errs["diff"] = all.Diff(deskID, "", nil)
		errs["fork"] = all.Fork(deskID, 0, "223e4567-e89b-42d3-a456-426614174000")
		_, _, errs["open"] = all.Open(deskID)
		for _, err := range all.Spent(time.Time{}) {
			errs["usage"] = err
		}
		for reader, err := range errs {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%d bytes, %s: %v", size, reader, err)
			}
		}
	}
	if len(*told) > 0 {
		t.Errorf("told: %s", *told)
	}
}
