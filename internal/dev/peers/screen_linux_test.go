package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/internal/dev/screentest"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// stream is output of a program in a terminal that is resized meanwhile.
type stream struct {
	Columns int          `json:"columns"`
	Rows    int          `json:"rows"`
	Steps   []streamStep `json:"steps"`
	resized bool
}

// streamStep is output, or a resize.
type streamStep struct {
	Write   string `json:"write,omitempty"`
	Columns int    `json:"columns,omitempty"`
	Rows    int    `json:"rows,omitempty"`
}

// display is what a terminal shows: rows, or lines if it was resized, and the cursor.
type display struct {
	text string
	x, y int
}

// The screen that the stories use shows the same as xterm.js and tmux, for random output and for that of the program.
func TestScreen(t *testing.T) {
	var streams []stream
	for seed := range 120 {
		streams = append(streams, randomStream(uint64(seed), false))
	}
	for seed := range 60 {
		streams = append(streams, randomStream(uint64(1000+seed), true))
	}
	streams = append(streams, recorded(t))
	t.Run("xterm.js", func(t *testing.T) {
		compareScreens(t, streams, xtermDisplays(t, streams))
	})
	t.Run("tmux", func(t *testing.T) {
		some := append(append([]stream{}, streams[:20]...), streams[120:130]...)
		some = append(some, streams[len(streams)-1])
		compareScreens(t, some, tmuxDisplays(t, some))
	})
}

func compareScreens(t *testing.T, streams []stream, others []display) {
	t.Helper()
	wrong := 0
	for i, s := range streams {
		own := s.own()
		if s.resized {
			own.x, own.y, others[i].x, others[i].y = 0, 0, 0, 0 // terminals differ in where the cursor goes
		}
		if own != others[i] {
			if wrong++; wrong <= 3 {
				t.Errorf("stream %d, %d×%d, shows at %d,%d\n%s\ninstead of, at %d,%d\n%s\n%.3000s", i, s.Columns, s.Rows, own.x, own.y, own.text, others[i].x, others[i].y, others[i].text, fmt.Sprintf("%+q", fmt.Sprint(s.Steps)))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d streams differ", wrong, len(streams))
	}
}

// own returns what the screen of the stories shows.
func (s stream) own() display {
	screen := screentest.New(s.Columns, s.Rows, nil)
	for _, step := range s.Steps {
		if step.Write != "" {
			screen.Write([]byte(step.Write))
		} else {
			screen.Resize(step.Columns, step.Rows, true)
		}
	}
	y, x, _ := screen.Cursor()
	if s.resized {
		return display{trimmed(strings.Split(screen.Text(), "\n")), x, y}
	}
	return display{trimmed(append(screen.Scrollback(), screen.Lines()...)), x, y}
}

// trimmed joins rows without spaces at their ends and empty rows at the end.
func trimmed(rows []string) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(r, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// randomStream returns what programs send: text, wide and combining characters, cursor movements, erasing, scrolling.
func randomStream(seed uint64, resized bool) stream {
	r := rand.New(rand.NewPCG(seed, 1))
	s := stream{Columns: 10 + r.IntN(30), Rows: 4 + r.IntN(10), resized: resized}
	words := []string{"word", "longer words ", " ", "a", "日本語", "한글", "e\u0301", "é", "─", "123456789", "中", "x\u0302y"}
	var b strings.Builder
	for range 60 {
		n := 1 + r.IntN(5)
		switch k := r.IntN(24); {
		case resized && k >= 10: // lines of text
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(3) == 0 {
				b.WriteString("\r\n")
			}
		case k < 8:
			b.WriteString(words[r.IntN(len(words))])
		case k < 10:
			b.WriteString("\r\n")
		case k == 10:
			b.WriteString("\r")
		case k == 11:
			b.WriteString("\n")
		case k < 16: // from the end of a line, terminals move to the left and right differently
			fmt.Fprintf(&b, "\x1b[%d%c", n, "ABEG"[k-12])
		case k == 16:
			fmt.Fprintf(&b, "\x1b[%d;%dH", 1+r.IntN(s.Rows), 1+r.IntN(s.Columns))
		case k == 17:
			fmt.Fprintf(&b, "\x1b[%dK", r.IntN(3))
		case k == 18:
			b.WriteString("\r\x1b[K\x1b[C\x1b[J\r")
		case k == 19:
			fmt.Fprintf(&b, "\x1b[%dL\r", n)
		case k == 20:
			fmt.Fprintf(&b, "\x1b[%dM\r", n)
		case k == 21:
			b.WriteString("\x1b[?7lcut at the right edge of the terminal, \r\x1b[?7h")
		case k == 22:
			b.WriteString([]string{"\x1b7\x1b[9999;9999H\x1b8", "\t"}[r.IntN(2)])
		default:
			b.WriteString("\x1b[1;31mred\x1b[m")
		}
		if resized && r.IntN(10) == 0 {
			s.Steps = append(s.Steps, streamStep{Write: b.String() + "\r\n"}, streamStep{Columns: 10 + r.IntN(30), Rows: 4 + r.IntN(10)})
			b.Reset()
		}
	}
	s.Steps = append(s.Steps, streamStep{Write: b.String() + "\x1b[?7h"})
	return s
}

// recorded returns a conversation as the program paints it.
func recorded(t *testing.T) stream {
	p := adze(t)
	m, err := openaitest.Start(openaitest.Script{Answers: []openaitest.Answer{
		{Thought: "hm", Text: "Let me look: 日本語 and **bold**.", Calls: []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(`{"command":"touch new"}`)}}},
		{Text: "# Title\n\n| a | b |\n|---|---|\n| 한글 | é |\n\n```go\nfunc main() {}\n```\n\n" + strings.Repeat("- a list with words that are wrapped at the end of a line of the terminal\n", 30) + "\nThe end.", Faults: openaitest.Faults{Split: 9}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	terminal := ptytest.Open(t)
	cmd := p.command("--yolo")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+m.URL, "TERM=xterm-256color", "ADZE_LOCAL_MODELS=off")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.TTY, terminal.TTY, terminal.TTY
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Await("scripted", 1)
	terminal.Type("go\r")
	terminal.Await("The end.", 1)
	terminal.Type("\x03\x04")
	cmd.Wait()
	terminal.End()
	return stream{Columns: 80, Rows: 24, Steps: []streamStep{{Write: terminal.Raw()}}}
}

// xtermDisplays returns what xterm.js shows.
func xtermDisplays(t *testing.T, streams []stream) []display {
	t.Helper()
	cmd := exec.Command(node(t), "fixture/screen.mjs")
	in, err := json.Marshal(streams)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var shown []struct {
		Rows []struct {
			Text, Whole string
			Wrapped     bool
		}
		X, Y int
	}
	if err := json.Unmarshal(b, &shown); err != nil {
		t.Fatal(err)
	}
	var out []display
	for i, s := range shown {
		var rows []string
		for _, r := range s.Rows {
			if streams[i].resized && r.Wrapped && len(rows) > 0 {
				rows[len(rows)-1] += r.Text
				continue
			}
			rows = append(rows, r.Text)
		}
		out = append(out, display{trimmed(rows), s.X, s.Y})
	}
	return out
}

// tmuxDisplays returns what tmux shows.
func tmuxDisplays(t *testing.T, streams []stream) []display {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	tmux("new-session", "-d", "-x", "80", "-y", "24", "sleep 10000")
	t.Cleanup(func() { tmux("kill-server") })
	tmux("set-option", "-g", "history-limit", "10000")
	tmux("set-option", "-g", "remain-on-exit", "on")
	var out []display
	for i, s := range streams {
		fifo := filepath.Join(dir, fmt.Sprintf("fifo%d", i))
		if b, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
			t.Fatalf("mkfifo: %v %s", err, b)
		}
		window := tmux("new-window", "-P", "-F", "#{window_id}", "-c", dir, "stty raw -echo; cat "+fifo+"; sleep 10000")
		tmux("resize-window", "-t", window, "-x", fmt.Sprint(s.Columns), "-y", fmt.Sprint(s.Rows))
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n, step := range s.Steps {
			if step.Write == "" {
				tmux("resize-window", "-t", window, "-x", fmt.Sprint(step.Columns), "-y", fmt.Sprint(step.Rows))
				continue
			}
			title := fmt.Sprintf("step-%d-%d", i, n)
			fmt.Fprintf(w, "%s\x1b]2;%s\x07", step.Write, title)
			waittest.Until(t, "tmux has shown "+title, func() bool { return tmux("display-message", "-p", "-t", window, "#{pane_title}") == title })
		}
		args := []string{"capture-pane", "-p", "-t", window, "-S", "-"}
		if s.resized {
			args = append(args, "-J")
		}
		d := display{text: trimmed(strings.Split(tmux(args...), "\n"))}
		var columns int
		fmt.Sscan(tmux("display-message", "-p", "-t", window, "#{cursor_x} #{cursor_y} #{pane_width}"), &d.x, &d.y, &columns)
		d.x = min(d.x, columns-1)
		out = append(out, d)
		w.Close()
		tmux("kill-window", "-t", window)
	}
	return out
}
