package api

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// Images selects whether images are sent to the model.
type Images int

// The choices. An image that isn't sent is replaced by a note, so that the model knows about it.
const (
	ImagesByName Images = iota // unless the model is known not to accept them, or the server rejected them
	ImagesSent
	ImagesNoted
)

// blind are parts of names of models that don't accept images. Models of other names get them: a rejection shows that
// they can't read them.
var blind = []string{
	"gpt-3.5", "gpt-oss", "o1-mini", "o3-mini", "deepseek-chat", "deepseek-coder", "deepseek-r1", "deepseek-reasoner",
	"deepseek-v3",
	"qwen2.5-coder", "qwen3-coder", "codestral", "codellama", "mixtral", "starcoder",
}

// errImages reports that images aren't sent anymore.
var errImages = errors.New("the server doesn't accept images for this model; the model gets a note in place " +
	"of each image")

// SendsImages reports whether images are sent to the model.
func (c *Client) SendsImages() bool {
	switch c.Options.Images {
	case ImagesSent:
		return true
	case ImagesNoted:
		return false
	}
	name := strings.ToLower(c.Options.Model)
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.noImages && !slices.ContainsFunc(blind, func(part string) bool { return strings.Contains(name, part) })
}

// withoutImages reports whether a request was rejected because of its images. They aren't sent again.
func (c *Client) withoutImages(f *Failure) bool {
	if !f.Rejected() || c.Options.Images != ImagesByName || !aboutImages(f.Message+" "+f.Param) ||
		!hasImages(f.sent) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.noImages {
		return false
	}
	c.noImages, f.Note = true, errImages
	return true
}

// hasImages reports whether the body of a request has an image, in any API.
func hasImages(body []byte) bool {
	return bytes.Contains(body, []byte("data:image/")) || bytes.Contains(body, []byte(`"image/`))
}

// aboutImages reports whether an error may be about an image: servers of models without images describe it in many
// ways.
func aboutImages(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"image", "vision", "multimodal", "multi-modal", "modalit", "media", "mime", "inlinedata", "inline_data",
		"mmproj",
		"must be a string", "expected string", "expected a string", "valid string", "str type", "content type",
		"unknown variant",
	}, func(part string) bool { return strings.Contains(message, part) })
}
