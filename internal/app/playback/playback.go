// Package playback plays a session's journal on the screen of a live conversation:
//
//	err := playback.Play(ctx, log.Read(1), store, playback.Options{Open: open})
//
// It runs no model and no tool, and asks nothing. Times come from the journal, so that a journal always gives the same
// frames. A [Recording] writes them as an asciicast or an animated SVG.
package playback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

const (
	// MaxPause is the maximum duration of a pause.
	MaxPause = 2 * time.Second
	// frameTime is the minimum time between two frames, as in a live conversation while an answer streams.
	frameTime = 100 * time.Millisecond
	// tick is the time between two frames while something runs and nothing else changes.
	tick = time.Second
)

// Options configure how a journal is played.
type Options struct {
	// Open makes the screen. The header and the status are already set.
	Open func(tui.PlayerOptions) (*tui.Player, error)
	// Pass is called when time passes, after the screen was updated; may be nil.
	Pass  func(time.Duration)
	Speed float64 // 0 is 1
}

// Play plays entries. If the end of a journal can't be read, it shows and returns a notice.
func Play(ctx context.Context, entries iter.Seq2[journal.Entry, error], blobs journal.Blobs,
	o Options) (notices []string, err error) {
	f := newFeed(entries)
	defer f.close()
	if o.Speed == 0 {
		o.Speed = 1
	}
	p := &play{
		ctx: ctx, o: o, feed: f, blobs: blobs, tools: map[string]tool.Declaration{}, calls: map[string]tool.Request{},
	}
	p.status.Context = -1
	first, ok := f.take()
	if !ok && f.err != nil {
		return nil, f.err
	}
	if !ok {
		return nil, errors.New("the journal has no entries")
	}
	p.clock = first.At
	p.open(first)
	p.player, err = o.Open(tui.PlayerOptions{Header: p.header(first), Status: func() tui.Status { return p.status }})
	if err != nil {
		return nil, err
	}
	p.player.Clock(p.clock)
	p.dirty = true
	err = p.all(first)
	if err == nil {
		err = p.rest()
	}
	if err == nil {
		p.player.End()
		err = p.finish()
	}
	if errors.Is(err, tui.ErrStopped) {
		err = nil
	}
	if closing := p.player.Close(); err == nil {
		err = closing
	}
	return p.notices, err
}

// play is a journal that is being played.
type play struct {
	ctx     context.Context
	o       Options
	feed    *feed
	blobs   journal.Blobs
	player  *tui.Player
	notices []string

	clock time.Time     // of the journal
	dirty bool          // something changed since the last frame
	since time.Duration // the last frame

	status tui.Status
	tools  map[string]tool.Declaration
	calls  map[string]tool.Request // that are not finished, by agent and ID
	said   bool                    // the next answer was shown before its entry
	newer  bool                    // some entries are of a newer version
}

// open reads the session's properties from the first entry.
func (p *play) open(first journal.Entry) {
	data, _, err := journal.Recover(first, p.blobs)
	if err != nil {
		return // the error is reported when the entry is played
	}
	if d, ok := data.(journal.Opened); ok {
		p.status.Mode, p.status.Model, p.status.Directory = cell.Clean(d.Mode), d.Model, filepath.Base(d.CWD)
		p.declare(d.Declarations)
	}
}

func (p *play) declare(tools []journal.Declaration) {
	for _, d := range tools {
		t := d.Tool()
		t.Parameters, t.Description = nil, ""
		p.tools[d.Name] = t
	}
}

// header returns the first rows of the screen.
func (p *play) header(first journal.Entry) []tui.Row {
	rows := []tui.Row{{Label: "Adze", Text: "replay of " + first.At.UTC().Format("2006-01-02 15:04 UTC")}}
	data, _, err := journal.Recover(first, p.blobs)
	d, ok := data.(journal.Opened)
	if err != nil || !ok {
		return rows
	}
	rows[0].Text = d.CWD + ", " + rows[0].Text
	if d.Model != "" {
		rows = append(rows, tui.Row{Label: "model", Text: d.Model})
	}
	return rows
}

// all plays the entries.
func (p *play) all(e journal.Entry) error {
	for ok := true; ok; e, ok = p.feed.take() {
		if e.V > journal.Version && !p.newer {
			p.newer = true
			p.notice("A newer version of Adze recorded this session. Entries that this version doesn't know " +
				"are skipped.")
		}
		data, _, err := journal.Recover(e, p.blobs)
		if err != nil {
			p.notice(fmt.Sprintf("This entry can't be read: %v.", err))
			continue
		}
		if err := p.entry(e, data); err != nil {
			return err
		}
	}
	return nil
}

// rest reports entries that can't be read.
func (p *play) rest() error {
	var broken *journal.BrokenError
	if !errors.As(p.feed.err, &broken) {
		return p.feed.err
	}
	p.notice("The rest of the journal can't be read. The cause is in 'adze session show'.") // it names a path
	return nil
}

// notice shows a message about the replay itself.
func (p *play) notice(text string) {
	p.player.Tell(text)
	p.dirty = true
	if len(p.notices) < maxNotices {
		p.notices = append(p.notices, text)
	}
}

// maxNotices is the maximum number of returned notices.
const maxNotices = 20

// until lets time pass up to a time of the journal.
func (p *play) until(at time.Time) error {
	gap := at.Sub(p.clock)
	if gap <= 0 {
		return nil
	}
	return p.stretch(gap, min(gap, MaxPause))
}

// stretch shows a gap of the journal in another duration.
func (p *play) stretch(gap, shown time.Duration) error {
	from := p.clock
	n := 1
	if p.player.Working() {
		n = int((shown + tick - 1) / tick)
	}
	for i := range n {
		if err := p.pass(shown/time.Duration(n), from.Add(gap*time.Duration(i+1)/time.Duration(n))); err != nil {
			return err
		}
		p.dirty = p.dirty || i < n-1
	}
	return nil
}

// pass shows changes, and lets time pass until the clock is at to.
func (p *play) pass(d time.Duration, to time.Time) error {
	d = time.Duration(float64(d) / p.o.Speed)
	if p.dirty && p.since+d >= frameTime {
		if err := p.player.Paint(); err != nil {
			return err
		}
		p.dirty, p.since = false, 0
	}
	if err := p.player.Wait(p.ctx, d); err != nil {
		return err
	}
	if p.o.Pass != nil {
		p.o.Pass(d)
	}
	p.since += d
	p.clock = to
	p.player.Clock(to)
	return nil
}

// finish shows the last frame.
func (p *play) finish() error {
	p.player.Clock(p.clock)
	if err := p.player.Paint(); err != nil {
		return err
	}
	return p.pass(tick, p.clock)
}
