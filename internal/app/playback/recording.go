package playback

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

// Size of the terminal in recordings. It doesn't depend on the user's, so that a journal always gives the same bytes.
const (
	Columns = 80
	Rows    = 24
)

// Recording writes a replay to files: an asciicast (version 2), an animated SVG, or both.
type Recording struct {
	Cast, SVG io.Writer // nil: not written
	Title     string
	Began     time.Time // start of the session

	at   time.Duration
	cast *bufio.Writer
	svg  *svg
	err  error // of writing
}

// Options returns the options for playing a journal into the recording.
func (r *Recording) Options(speed float64) Options {
	return Options{Open: r.open, Pass: r.pass, Speed: speed}
}

func (r *Recording) open(o tui.PlayerOptions) (*tui.Player, error) {
	if r.Cast != nil {
		r.cast = bufio.NewWriter(r.Cast)
		r.line(castHeader{
			Version: 2, Width: Columns, Height: Rows, Timestamp: r.Began.Unix(), Title: r.Title,
			Env: map[string]string{"TERM": "xterm-256color"},
		})
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

// line writes a line of the asciicast. HTML characters are escaped, because web pages embed asciicasts.
func (r *Recording) line(v any) {
	if err := json.NewEncoder(r.cast).Encode(v); err != nil && r.err == nil {
		r.err = err
	}
}

// pass lets time pass.
func (r *Recording) pass(d time.Duration) { r.at += d }

// Write receives the output for a terminal.
func (r *Recording) Write(b []byte) (int, error) {
	if r.cast != nil {
		r.line([]any{json.Number(fmt.Sprintf("%.6f", r.at.Seconds())), "o", string(b)})
	}
	return len(b), r.err
}

// frame receives a frame of the screen.
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
