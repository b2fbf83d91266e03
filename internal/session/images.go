package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/document"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// images are the images that the user dropped into prompts, by their labels.
type images struct {
	mu    sync.Mutex
	paths []string // the label of the first has the number 1
}

// ErrNotImage is the error of a file that is no image.
var ErrNotImage = errors.New("not an image")

// AddImage takes an image that the user dropped, and returns the label with which prompts name it, such as
// "[image 1: shot.png]". A prompt with the label has the image: see PromptParts. Nothing but the start of the file is read.
func (s *Session) AddImage(path string) (label string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", ErrNotImage
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, document.HeadSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", ErrNotImage // also of an empty file
	}
	kind := document.Detect(path, head[:n])
	if kind.Kind != document.Image {
		return "", ErrNotImage
	}
	if err := kind.CheckSize(info.Size()); err != nil {
		return "", err
	}
	s.images.mu.Lock()
	defer s.images.mu.Unlock()
	s.images.paths = append(s.images.paths, path)
	return imageLabel(len(s.images.paths), path), nil
}

func imageLabel(n int, path string) string {
	return fmt.Sprintf("[image %d: %s]", n, strings.ReplaceAll(tool.Visible(filepath.Base(path)), "\n", " "))
}

// in are the images that a prompt names, as parts. Those that can't be read are described in notes.
func (i *images) in(prompt string) (parts []model.Part, notes []string) {
	i.mu.Lock()
	paths := append([]string{}, i.paths...)
	i.mu.Unlock()
	for n, path := range paths {
		label := imageLabel(n+1, path)
		if !strings.Contains(prompt, label) {
			continue
		}
		picture, err := readPicture(path)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s was not attached: %v", label, err))
			continue
		}
		parts = append(parts, model.Text(label+":"), model.Media{Media: tool.Media{MIMEType: picture.MIME, Data: picture.Data}})
	}
	return parts, notes
}

func readPicture(path string) (document.Picture, error) {
	f, err := os.Open(path)
	if err != nil {
		return document.Picture{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, document.MaxImageSource+1))
	if err != nil {
		return document.Picture{}, err
	}
	if len(data) > document.MaxImageSource {
		return document.Picture{}, &document.TooLargeError{Type: document.Detect(path, data[:document.HeadSize]), Size: int64(len(data)), Limit: document.MaxImageSource}
	}
	return document.ReadImage(data, document.ImageLimits{})
}
