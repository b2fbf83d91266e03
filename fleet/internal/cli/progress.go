package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
)

// progress shows the progress of a run on stderr: a bar in a terminal, otherwise a line for each change, at most one per
// second.
type progress struct {
	env   Env
	json  bool
	run   queue.Run
	began time.Time
	first int // tasks that were done at the start
	last  int
	shown time.Time
	noted string
	line  bool // the cursor is after a bar
}

func newProgress(env Env, o *options, r queue.Run) *progress {
	return &progress{env: env, json: o.json, run: r, began: time.Now(), first: -1, last: -1}
}

// barWidth is the width of the bar.
const barWidth = 30

func (p *progress) show(done int, cost float64) {
	if p.first < 0 {
		p.first = done
	}
	if done == p.last && !p.env.Terminal || time.Since(p.shown) < time.Second && done != p.run.Tasks && p.last >= 0 {
		return
	}
	if done != p.last {
		p.noted = ""
	}
	p.last, p.shown = done, time.Now()
	rate := float64(done-p.first) / time.Since(p.began).Minutes()
	left := ""
	if rate > 0 && done < p.run.Tasks {
		left = time.Duration(float64(p.run.Tasks-done) / rate * float64(time.Minute)).Round(time.Second).String()
	}
	if p.json {
		raw, _ := json.Marshal(map[string]any{"run": p.run.Name, "tasks": p.run.Tasks, "done": done, "cost": cost, "perMinute": rate, "eta": left})
		fmt.Fprintf(p.env.Stderr, "%s\n", raw)
		return
	}
	text := fmt.Sprintf("%d of %d tasks, $%.2f", done, p.run.Tasks, cost)
	if left != "" {
		text += fmt.Sprintf(", %.1f per minute, %s left", rate, left)
	}
	if !p.env.Terminal {
		fmt.Fprintf(p.env.Stderr, "%s: %s\n", p.run.Name, text)
		return
	}
	full := barWidth * done / max(p.run.Tasks, 1)
	fmt.Fprintf(p.env.Stderr, "\r\x1b[K[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
	p.line = true
}

// note prints a notice, once until something changes.
func (p *progress) note(text string) {
	if p.noted == text {
		return
	}
	p.noted = text
	p.end()
	fmt.Fprintf(p.env.Stderr, "adze: %s\n", text)
}

func (p *progress) end() {
	if p.line {
		fmt.Fprintln(p.env.Stderr)
		p.line = false
	}
}
