package playback

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/dev/screentest"
	"github.com/adze-dev/adze/journal"
)

// at is a row of a journal: seconds after the start, who, type and data.
type at struct {
	second float64
	by     string
	kind   journal.Type
	data   string
}

const opened = `{"id":"11111111-1111-4111-8111-111111111111","cwd":"/home/ada/greeting","model":"m","mode":"default","declarations":[
 {"name":"read_file","displayName":"ReadFile","kind":"read"},{"name":"edit","displayName":"Edit","kind":"edit"},{"name":"run_shell_command","displayName":"Shell","kind":"execute"}]}`

func log(rows ...at) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		rows := append([]at{{0, "", journal.TypeOpened, opened}}, rows...)
		for i, r := range rows {
			when := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC).Add(time.Duration(r.second * float64(time.Second)))
			if !yield(journal.Entry{V: 1, Seq: int64(i + 1), At: when, By: r.by, Type: r.kind, Data: json.RawMessage(r.data)}, nil) {
				return
			}
		}
	}
}

func prompt(second float64, text string) at {
	return at{second, "", journal.TypeMessage, `{"message":{"role":"user","parts":[{"text":` + quote(text) + `}]}}`}
}

func answer(second float64, parts string) at {
	return at{second, "", journal.TypeAnswer, `{"turn":1,"usage":{"output":5},"message":{"role":"assistant","parts":[` + parts + `]}}`}
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string can be marshaled
	return string(b)
}

type played struct {
	cast, svg string
	notices   []string
}

func filmed(t *testing.T, entries iter.Seq2[journal.Entry, error], speed float64) played {
	t.Helper()
	var cast, svg bytes.Buffer
	rec := &Recording{Cast: &cast, SVG: &svg, Title: "adze: test", Began: time.Unix(1700000000, 0)}
	notices, err := Play(t.Context(), entries, &journal.MemoryBlobs{}, rec.Options(speed))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return played{cast.String(), svg.String(), notices}
}

// event is a line of an asciicast.
type event struct {
	at   float64
	text string
}

func (p played) events(t *testing.T) []event {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(p.cast), "\n")
	var header struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 || header.Width != Columns || header.Height != Rows {
		t.Fatalf("header %s: %v", lines[0], err)
	}
	var out []event
	for _, l := range lines[1:] {
		var raw [3]any
		if err := json.Unmarshal([]byte(l), &raw); err != nil || raw[1] != "o" {
			t.Fatalf("event %s: %v", l, err)
		}
		out = append(out, event{raw[0].(float64), raw[2].(string)})
	}
	return out
}

// text returns all that a terminal shows of the asciicast.
func (p played) text(t *testing.T) string {
	t.Helper()
	s := screentest.New(Columns, Rows, nil)
	for _, e := range p.events(t) {
		io.WriteString(s, e.text)
	}
	return s.Text()
}

var fixing = []at{
	prompt(0, "fix it"),
	{0, "", journal.TypeAsked, `{"turn":1}`},
	{10, "", journal.TypeCalled, `{"turn":1,"call":{"id":"1","name":"edit","args":{"file_path":"/a/greet.sh"}}}`},
	answer(11, `{"thought":"hm"},{"text":"First **this**."},{"call":{"id":"1","name":"edit","args":{}}}`),
	{600, "", journal.TypeStarted, `{"id":"1","name":"edit","decision":{"verdict":"allow","cause":{"kind":""}},"about":"edit greet.sh"}`},
	{600, "", journal.TypeFinished, `{"id":"1","outcome":{"name":"edit","status":"success","result":{"llmContent":"ok","returnDisplay":{"fileDiff":"@@ -1 +1 @@\n-echo hi\n+echo hello\n","fileName":"greet.sh","originalContent":"","newContent":"","diffStat":{"model_added_lines":1,"model_removed_lines":1}}},"ms":2000}}`},
	{600, "", journal.TypeResponses, `{"turn":1,"message":{"role":"tool","parts":[]}}`},
	{600, "", journal.TypeAsked, `{"turn":2}`},
	answer(605, `{"text":"It says 你好 now."}`),
	prompt(9000, "thanks"),
}

func TestReplayShowsTheConversation(t *testing.T) {
	t.Parallel()
	text := filmed(t, log(fixing...), 1).text(t)
	for _, want := range []string{
		"/home/ada/greeting, replay of 2026-11-16 06:00 UTC", "› fix it", "∙ thought for 2 s", "First this.", "? Edit greet.sh  +1 −1",
		"+echo hello", "● Edit greet.sh  +1 −1", "2.0 s", "It says 你好 now.", "› thanks",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(text, want), text)
		}
	}
	if fast := filmed(t, log(fixing...), 100).text(t); fast != text {
		t.Errorf("at another speed the conversation is\n%s", fast)
	}
}

// Time is the journal's: bytes are equal, pauses are 2 s at most, and a speed divides them.
func TestReplayTime(t *testing.T) {
	t.Parallel()
	once, again := filmed(t, log(fixing...), 1), filmed(t, log(fixing...), 1)
	if once.cast != again.cast || once.svg != again.svg {
		t.Error("two replays differ")
	}
	for _, speed := range []float64{0.1, 1, 10} {
		last, longest := 0.0, 0.0
		for _, e := range filmed(t, log(fixing...), speed).events(t) {
			if e.at < last {
				t.Fatalf("time goes back from %v to %v", last, e.at)
			}
			longest, last = max(longest, e.at-last), e.at
		}
		// 10 s and 589 s and 5 s and 8395 s are 2 s each, 1 s is 1 s, the first prompt is typed, and the last frame lasts a second.
		want := (2 + 1 + 2 + 2 + 2 + 0.15 + 1) / speed
		if longest*speed > 2.001 || last < want*0.95 || last > want*1.05 {
			t.Errorf("speed %v: the longest pause is %v and all takes %v, not %v", speed, longest, last, want)
		}
	}
}

// last returns the text of the last frame.
func (p played) last(t *testing.T) string {
	t.Helper()
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`<g id="(r\d+)">(.*)</g></defs>`).FindAllStringSubmatch(p.svg, -1) {
		line := []rune(strings.Repeat(" ", Columns))
		for _, x := range regexp.MustCompile(`<text x="([\d.]+)"[^>]*>([^<]*)<`).FindAllStringSubmatch(m[2], -1) {
			at, _ := strconv.ParseFloat(x[1], 64)
			copy(line[int(at/cellWidth+0.5):], []rune(strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(x[2])))
		}
		rows[m[1]] = strings.TrimRight(string(line), " ")
	}
	frames := regexp.MustCompile(`(?m)^<g transform="translate\([\d.]+\)">(.*)</g>$`).FindAllStringSubmatch(p.svg, -1)
	out := make([]string, Rows)
	for _, u := range regexp.MustCompile(`<use href="#(r\d+)" y="(\d+)"/>`).FindAllStringSubmatch(frames[len(frames)-1][1], -1) {
		y, _ := strconv.Atoi(u[2])
		out[y/cellHeight] = rows[u[1]]
	}
	return strings.Join(out, "\n")
}

// The picture has what a terminal shows.
func TestPictureIsTheScreen(t *testing.T) {
	t.Parallel()
	rows := fixing
	for i := range 30 {
		rows = append(rows, at{float64(9001 + i), "", journal.TypeModel, `{"model":"x"}`}, prompt(float64(9002+i), "say it again\nand again"))
	}
	p := filmed(t, log(rows...), 1)
	s := screentest.New(Columns, Rows, nil)
	events := p.events(t)
	for _, e := range events[:len(events)-1] { // the last one removes the live area
		io.WriteString(s, e.text)
	}
	if got, want := p.last(t), strings.Join(s.Lines(), "\n"); got != want {
		t.Errorf("the picture shows\n%s\nand a terminal\n%s", got, want)
	}
}

const hostile = "a\x1b]52;c;ZXZpbA==\ab\x1b]2;pwned\ac\x1b[2J\x1b[31md\u009b31me\u202ef</text><script>alert(1)</script>&\x00\ufffe\uffff\r\x1bPq\x1b\\ \u200b👩‍👩‍👧 e\u0301 مرحبا"

func TestHostileJournal(t *testing.T) {
	t.Parallel()
	h := quote(hostile)
	p := filmed(t, log(
		prompt(0, hostile), at{0, "", journal.TypeAsked, `{"turn":1}`},
		at{1, "", journal.TypeCalled, `{"turn":1,"call":{"id":` + h + `,"name":` + h + `,"args":{"command":` + h + `}}}`},
		answer(2, `{"thought":`+h+`},{"text":`+quote(hostile+"\n\n```\n"+hostile+"\n```\n[x](javascript:alert(1)) <b onclick=x>")+`}`),
		at{3, "", journal.TypeStarted, `{"id":` + h + `,"name":` + h + `,"args":{"command":` + h + `},"decision":{"verdict":"allow","cause":{"kind":""}},"about":` + h + `}`},
		at{4, hostile, journal.TypeStarted, `{"id":"2","name":` + h + `,"decision":{"verdict":"allow","cause":{"kind":"mode"}},"about":` + h + `}`},
		at{5, "", journal.TypeFinished, `{"id":` + h + `,"outcome":{"name":` + h + `,"status":"error","result":{"llmContent":` + h + `},"error":{"type":"x","message":` + h + `},"ms":1}}`},
		at{5, "", journal.TypeMode, `{"mode":` + h + `}`}, at{5, "", journal.TypeModel, `{"model":` + h + `}`},
		at{6, "", journal.TypeAnswer, `{"turn":2,"error":` + h + `,"message":{"role":"assistant","parts":[]}}`},
	), 1)
	s := screentest.New(Columns, Rows, nil)
	for _, e := range p.events(t) {
		io.WriteString(s, e.text)
	}
	state := s.State()
	if len(state.Sent) > 0 || state.Title != "" || state.Bells > 0 || state.Erased > 0 {
		t.Errorf("the terminal got commands: %+v", state)
	}
	for _, c := range state.Commands {
		if !regexp.MustCompile(`^CSI \?(7|25)[hl]$`).MatchString(c) {
			t.Errorf("the terminal got %q", c)
		}
	}
	checkSVG(t, p.svg)
}

// checkSVG checks that a picture is XML with nothing that runs or is loaded.
func checkSVG(t *testing.T, svg string) {
	t.Helper()
	if !utf8.ValidString(svg) {
		t.Error("the SVG is not UTF-8")
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the SVG is not XML: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(" svg title style rect g defs use text ", " "+e.Name.Local+" ") {
			t.Errorf("the SVG has an element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#r") || strings.Contains(a.Value, "javascript:") {
				t.Errorf("the SVG has an attribute %s=%q", a.Name.Local, a.Value)
			}
		}
	}
}

func TestTornJournal(t *testing.T) {
	t.Parallel()
	broken := func(err error) iter.Seq2[journal.Entry, error] {
		return func(yield func(journal.Entry, error) bool) {
			for e := range log(prompt(0, "hello")) {
				if !yield(e, nil) {
					return
				}
			}
			yield(journal.Entry{}, err)
		}
	}
	p := filmed(t, broken(&journal.BrokenError{Path: "/x", Line: 3}), 1)
	if text := p.text(t); !strings.Contains(text, "› hello") || !strings.Contains(text, "The rest of the journal can't be read") || len(p.notices) != 1 {
		t.Errorf("%q\n%s", p.notices, text)
	}
	rec := &Recording{Cast: io.Discard}
	if _, err := Play(t.Context(), broken(io.ErrUnexpectedEOF), &journal.MemoryBlobs{}, rec.Options(1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error of the disk is %v", err)
	}
	if _, err := Play(t.Context(), func(func(journal.Entry, error) bool) {}, &journal.MemoryBlobs{}, rec.Options(1)); err == nil {
		t.Error("an empty journal is played")
	}
	p = filmed(t, log(at{1, "", journal.TypeAnswer, `{"turn":"x"}`}, at{2, "", "future", `{}`}, prompt(3, "goes on")), 1)
	if text := p.text(t); !strings.Contains(text, "This entry can't be read") || !strings.Contains(text, "› goes on") {
		t.Error(text)
	}
}

// full is a disk without space.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestReplayIntoAFullDisk(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 5000} { // at the end, and in the middle
		for name, rec := range map[string]*Recording{"cast": {Cast: &full{left}}, "svg": {SVG: &full{left}}} {
			_, err := Play(t.Context(), log(fixing...), &journal.MemoryBlobs{}, rec.Options(1))
			if err = errors.Join(err, rec.Close()); err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("%s after %d bytes: %v", name, left, err)
			}
		}
	}
}

// A long journal is neither read as a whole nor kept.
func TestLongJournal(t *testing.T) {
	t.Parallel()
	read, limit := 0, 0
	var f *feed
	entries := func(yield func(journal.Entry, error) bool) {
		for i := range 20_000 {
			read++
			if f != nil {
				limit = max(limit, len(f.ahead))
			}
			e := journal.Entry{V: 1, Seq: int64(i + 1), Type: journal.TypeCalled, By: "x", Data: json.RawMessage(fmt.Sprintf(`{"call":{"id":"%d","name":"a","args":{}}}`, i))}
			if !yield(e, nil) {
				return
			}
		}
	}
	f = newFeed(entries)
	defer f.close()
	f.take()
	if _, ok := f.find(func(journal.Entry) verdict { return further }); ok || read > maxAhead+2 {
		t.Errorf("%d entries were read ahead", read)
	}
	p := &struct{ rows []at }{}
	for i := range maxCalls + 200 {
		p.rows = append(p.rows, at{float64(i), "", journal.TypeStarted, fmt.Sprintf(`{"id":"%d","name":"a","decision":{"verdict":"allow","cause":{"kind":"mode"}}}`, i)})
	}
	if text := filmed(t, log(p.rows...), 100).cast; len(text) > 20<<20 {
		t.Errorf("calls that never end are %d bytes", len(text))
	}
}

func TestTooLongForAPicture(t *testing.T) {
	t.Parallel()
	s := newSVG(io.Discard, "")
	s.starts = make([]time.Duration, maxFrames)
	s.frame = "x"
	if err := s.close(0); err == nil || !strings.Contains(err.Error(), "--cast") {
		t.Error(err)
	}
}
