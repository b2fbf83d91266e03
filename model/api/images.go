package api

import (
	"slices"
	"strings"
)

// Images says whether images go to the model.
type Images int

// The ways. What is not sent is replaced by a note, so that the model knows what it does not see.
const (
	ImagesByName Images = iota // if the model's name is one of a model known to take them
	ImagesSent
	ImagesNoted
)

// seeing are parts of names of models that take images. A name not in it costs the image, not the turn: servers of
// models that take none refuse the whole request.
var seeing = []string{
	"gpt-4o", "gpt-4.1", "gpt-4-turbo", "gpt-5", "chatgpt-4o", "o3-pro", "o4-mini",
	"claude", "gemini", "gemma-3", "gemma3", "gemma-4", "gemma4",
	"-vl", "vl-", "2vl", "qvq", "omni", "vision", "llava", "pixtral", "moondream", "minicpm-v", "internvl",
	"llama-4", "llama4", "mistral-small-3", "mistral-small3", "mistral-medium-3", "grok-4", "glm-4v", "glm-4.5v",
}

// Sent reports whether images go to the model of this name.
func (i Images) Sent(name string) bool {
	if i != ImagesByName {
		return i == ImagesSent
	}
	name = strings.ToLower(name)
	return name == "o3" || slices.ContainsFunc(seeing, func(s string) bool { return strings.Contains(name, s) })
}
