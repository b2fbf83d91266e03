// Package document reads files that are more than plain text: images, PDF, notebooks. It names other binary files.
//
//	t := document.Detect("figure.png", head)
//	if t.Kind == document.Image {
//		picture, err := document.ReadImage(data, document.ImageLimits{})
//	}
//
// It works on bytes that the caller has read. It doesn't open files, decode text or check permissions; audio and video
// are only named.
package document

import (
	"fmt"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Kind is how a file can be shown.
type Kind int

// The kinds.
const (
	Text     Kind = iota // lines, in any encoding
	Image                // PNG, JPEG, GIF, WebP
	SVG                  // an image in a text format
	Audio                // WAV, MP3, Ogg, FLAC, M4A, AIFF
	Video                // MP4, QuickTime, WebM, AVI, MPEG
	PDF                  // pages
	Notebook             // Jupyter cells
	Binary               // anything else
)

// String names the kind.
func (k Kind) String() string {
	names := [...]string{"text", "image", "svg", "audio", "video", "pdf", "notebook", "binary"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Type is the type of a file.
type Type struct {
	Kind Kind
	MIME string // "image/png"
	Name string // for users: "PNG image", "ELF executable", "SQLite database"
}

// HeadSize is the number of bytes that Detect uses.
const HeadSize = 8 << 10

// The maximum sizes of files that are read completely, by kind.
const (
	MaxImageSource = 100 << 20
	MaxPDFSource   = 100 << 20
	MaxNotebook    = 50 << 20
	MaxSVG         = 1 << 20
	MaxMedia       = 7 << 20 // audio and video, which are sent unchanged: about 9.5 MB in base64
)

// TooLargeError reports a file that is too large for its kind.
type TooLargeError struct {
	Type  Type
	Size  int64
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the %s has %s; at most %s can be read", e.Type.Name, humanize.Bytes(e.Size),
		humanize.Bytes(e.Limit))
}

// CheckSize returns a *[TooLargeError] for a file that is too large to be read as its kind. Text and binary files need
// not be read completely and always pass.
func (t Type) CheckSize(size int64) error {
	limits := map[Kind]int64{
		Image: MaxImageSource, PDF: MaxPDFSource, Notebook: MaxNotebook, SVG: MaxSVG, Audio: MaxMedia, Video: MaxMedia,
	}
	if limit, ok := limits[t.Kind]; ok && size > limit {
		return &TooLargeError{Type: t, Size: size, Limit: limit}
	}
	return nil
}

// Describe describes a file that can't be shown: "SQLite database, 12.4 MB".
func (t Type) Describe(size int64) string { return t.Name + ", " + humanize.Bytes(size) }
