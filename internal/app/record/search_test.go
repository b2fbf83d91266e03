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

// An export of a damaged archive says what is missing.
func TestExportOfADamagedArchive(t *testing.T) {
	all, told := desk(t, deskID)
	if err := all.Archive(0, time.Now().Add(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(all.Dir(deskID), "journal.jsonl.gz")
	info, err := os.Stat(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(packed, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := all.Export(&b, deskID, "md"); err != nil || !strings.Contains(b.String(), "prompt 7") {
		t.Errorf("%v: %.500s", err, b.String())
	}
	if got := strings.Join(*told, "\n"); !strings.Contains(got, "journal.jsonl.gz is damaged: unexpected EOF; what follows is missing here") {
		t.Errorf("told: %s", got)
	}
}
