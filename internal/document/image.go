package document

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/webp"
)

// ImageLimits bound what a picture may be. Zeros mean the defaults.
type ImageLimits struct {
	Edge   int // longest side in pixels; 1568
	Bytes  int // encoded size; 4.5 MB
	Pixels int // of the source, which decoding holds in memory at 4 bytes each; 64 million
}

func (l ImageLimits) withDefaults() ImageLimits {
	if l.Edge <= 0 {
		l.Edge = 1568
	}
	if l.Bytes <= 0 {
		l.Bytes = 4_500_000
	}
	if l.Pixels <= 0 {
		l.Pixels = 64_000_000
	}
	return l
}

// Picture is an image ready to be sent to a model.
type Picture struct {
	MIME                      string
	Data                      []byte
	Width, Height             int
	SourceWidth, SourceHeight int
	Scaled                    bool // Data was made again; otherwise it is the source, byte for byte
}

// String describes the picture: "1568x1045 pixels, scaled from 3000x2000".
func (p Picture) String() string {
	s := fmt.Sprintf("%dx%d pixels", p.Width, p.Height)
	if p.Scaled && (p.Width != p.SourceWidth || p.Height != p.SourceHeight) {
		s += fmt.Sprintf(", scaled from %dx%d", p.SourceWidth, p.SourceHeight)
	}
	return s
}

// format decodes one kind of image.
type format struct {
	mime   string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
}

func formatOf(mime string) (format, bool) {
	switch mime {
	case "image/png":
		return format{mime,
			func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) }}, true
	case "image/jpeg":
		return format{mime,
			func(b []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) }}, true
	case "image/gif":
		return format{mime,
			func(b []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return gif.Decode(bytes.NewReader(b)) }}, true
	case "image/webp":
		return format{mime,
			func(b []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(b)) },
			func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) }}, true
	}
	return format{}, false
}

// ReadImage makes a picture of an encoded image. One within the limits is passed through as it is, once it is sure
// that it can be decoded: a broken one would spoil the whole conversation it is put into. A larger one is turned
// upright and scaled down, to PNG where it has transparent parts and to JPEG otherwise; of an animation the first frame.
func ReadImage(data []byte, limits ImageLimits) (p Picture, err error) {
	defer func() { // decoders get any file content
		if r := recover(); r != nil {
			p, err = Picture{}, fmt.Errorf("decode the image: it is damaged: %v", r)
		}
	}()
	limits = limits.withDefaults()
	t := Detect("", data)
	f, ok := formatOf(t.MIME)
	if !ok {
		return Picture{}, fmt.Errorf("read the image: a %s is not an image that can be shown; PNG, JPEG, GIF and WebP are", t.Name)
	}
	if isAnimatedWebP(data) {
		return Picture{}, errors.New("decode the WebP image: animated WebP is not supported; convert it to GIF or PNG")
	}
	config, err := f.config(data)
	if err != nil {
		return Picture{}, fmt.Errorf("decode the %s: it is damaged: %w", t.Name, err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > limits.Pixels/config.Height {
		return Picture{}, fmt.Errorf("decode the %s: %dx%d pixels are more than can be decoded; scale it down first", t.Name, config.Width, config.Height)
	}
	img, err := f.decode(data)
	if err != nil {
		return Picture{}, fmt.Errorf("decode the %s: it is damaged: %w", t.Name, err)
	}
	p = Picture{MIME: t.MIME, Data: data, Width: config.Width, Height: config.Height, SourceWidth: config.Width, SourceHeight: config.Height}
	if max(config.Width, config.Height) <= limits.Edge && len(data) <= limits.Bytes {
		return p, nil
	}
	return p.scale(img, orientation(data), limits)
}

// isAnimatedWebP reads the flag in the extended header.
func isAnimatedWebP(data []byte) bool {
	return len(data) > 20 && string(data[8:16]) == "WEBPVP8X" && data[20]&2 != 0
}

// smallestEdge is where scaling down to fit the size in bytes gives up.
const smallestEdge = 64

// scale encodes img again, smaller and smaller until it is within the limits.
func (p Picture) scale(img image.Image, turned int, limits ImageLimits) (Picture, error) {
	for edge := min(limits.Edge, max(p.SourceWidth, p.SourceHeight)); edge >= smallestEdge; edge = edge * 3 / 4 {
		small := turn(shrink(img, edge), turned)
		data, mime, err := encode(small, limits.Bytes)
		if err != nil {
			return Picture{}, fmt.Errorf("encode the scaled image: %w", err)
		}
		if len(data) <= limits.Bytes {
			size := small.Bounds()
			p.Data, p.MIME, p.Width, p.Height, p.Scaled = data, mime, size.Dx(), size.Dy(), true
			if turned >= 5 {
				p.SourceWidth, p.SourceHeight = p.SourceHeight, p.SourceWidth
			}
			return p, nil
		}
	}
	return Picture{}, fmt.Errorf("scale the image: it does not fit %s at any useful size", Size(int64(limits.Bytes)))
}

// shrink scales img so that its longest side is edge, or returns a copy if it is no longer than that.
func shrink(img image.Image, edge int) *image.NRGBA {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if longest := max(w, h); longest > edge {
		w, h = max(1, w*edge/longest), max(1, h*edge/longest)
	}
	if w != b.Dx() || h != b.Dy() {
		return reduce(img, w, h)
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	return out
}

// encode writes PNG where img is not opaque, and otherwise JPEG, with less quality if it would be too large.
func encode(img *image.NRGBA, limit int) (data []byte, mime string, err error) {
	var b bytes.Buffer
	if !img.Opaque() {
		err = png.Encode(&b, img)
		return b.Bytes(), "image/png", err
	}
	for _, quality := range []int{90, 75} {
		b.Reset()
		if err = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil || b.Len() <= limit {
			break
		}
	}
	return b.Bytes(), "image/jpeg", err
}
