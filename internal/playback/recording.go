package playback

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/adze-dev/adze/internal/tui"
	"github.com/adze-dev/adze/internal/tui/paint"
)

// Size of the terminal in recordings. It doesn't depend on the user's, so that a journal always gives the same bytes.
const (
	Columns = 80
	Rows    = 24
)

// Recording writes what is played to files: an asciicast (version 2), an animated SVG, or both.
type Recording struct {
	Cast, SVG io.Writer // nil: not wanted
	Title     string
	Began     time.Time // when the session began

	at   time.Duration
	cast *bufio.Writer
	svg  *svg
	err  error // of writing
}

// Options returns how a journal is played into the recording.
func (r *Recording) Options(speed float64) Options {
	return Options{Open: r.open, Pass: r.pass, Speed: speed}
}

func (r *Recording) open(o tui.PlayerOptions) (*tui.Player, error) {
	if r.Cast != nil {
		r.cast = bufio.NewWriter(r.Cast)
		r.line(castHeader{Version: 2, Width: Columns, Height: Rows, Timestamp: r.Began.Unix(), Title: r.Title, Env: map[string]string{"TERM": "xterm-256color"}})
	}
	if r.SVG != nil {
		r.svg = newSVG(r.SVG, r.Title)
	}
	o.Write, o.Columns, o.Rows, o.Watch = r, Columns, Rows, r.frame
	return tui.OpenPlayer(o)
}

// castHeader is the first line of an asciicast.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env"`
}

// line writes a line of the asciicast. Characters of HTML are escaped, because pages contain asciicasts.
func (r *Recording) line(v any) {
	if err := json.NewEncoder(r.cast).Encode(v); err != nil && r.err == nil {
		r.err = err
	}
}

// pass lets time pass.
func (r *Recording) pass(d time.Duration) { r.at += d }

// Write takes what a terminal would get.
func (r *Recording) Write(b []byte) (int, error) {
	if r.cast != nil {
		r.line([]any{json.Number(fmt.Sprintf("%.6f", r.at.Seconds())), "o", string(b)})
	}
	return len(b), r.err
}

// frame takes what the screen shows.
func (r *Recording) frame(f paint.Frame) {
	if r.svg == nil {
		return
	}
	if err := r.svg.show(r.at, f); err != nil && r.err == nil {
		r.err = err
	}
}

// Close writes the end of the files.
func (r *Recording) Close() error {
	if r.cast != nil {
		if err := r.cast.Flush(); err != nil && r.err == nil {
			r.err = err
		}
	}
	if r.svg != nil {
		if err := r.svg.close(r.at); err != nil && r.err == nil {
			r.err = err
		}
	}
	return r.err
}
