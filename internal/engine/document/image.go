package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"github.com/adze-dev/adze/internal/engine/humanize"

	"golang.org/x/image/webp"
)

// ImageLimits are the limits of a picture. Zeros mean the defaults.
type ImageLimits struct {
	Edge   int // longest side in pixels; 1568
	Bytes  int // encoded size; 4.5 MB
	Pixels int // of the source, which takes 4 bytes each in memory; 64 million
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
	Scaled                    bool // Data was encoded again; otherwise it is the source
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

// ReadImage makes a picture of an encoded image. An image within the limits is returned unchanged, after checking that
// it can be decoded: a broken one would make every later request of the conversation fail. A larger one is rotated
// upright and scaled down, to PNG if it has transparent parts and to JPEG otherwise. Of an animation, the first frame
// is used.
func ReadImage(data []byte, limits ImageLimits) (p Picture, err error) {
	defer func() { // decoders may panic on arbitrary content
		if r := recover(); r != nil {
			p, err = Picture{}, fmt.Errorf("decode the image: it is damaged: %v", r)
		}
	}()
	limits = limits.withDefaults()
	t := Detect("", data)
	f, ok := formatOf(t.MIME)
	if !ok {
		return Picture{}, fmt.Errorf("read the image: a %s is not an image that can be shown; PNG, JPEG, GIF "+
			"and WebP are", t.Name)
	}
	if isAnimatedWebP(data) {
		return Picture{}, errors.New("decode the WebP image: animated WebP is not supported; convert it to GIF or PNG")
	}
	config, err := f.config(data)
	if err != nil {
		return Picture{}, fmt.Errorf("decode the %s: it is damaged: %w", t.Name, err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > limits.Pixels/config.Height {
		return Picture{}, fmt.Errorf("decode the %s: %dx%d pixels are more than can be decoded; scale it down first",
			t.Name, config.Width, config.Height)
	}
	img, err := f.decode(data)
	if err != nil {
		return Picture{}, fmt.Errorf("decode the %s: it is damaged: %w", t.Name, err)
	}
	p = Picture{
		MIME: t.MIME, Data: data, Width: config.Width, Height: config.Height, SourceWidth: config.Width,
		SourceHeight: config.Height,
	}
	if max(config.Width, config.Height) <= limits.Edge && len(data) <= limits.Bytes {
		return p, nil
	}
	return p.scale(img, orientation(data), limits)
}

// isAnimatedWebP reads the flag in the extended header.
func isAnimatedWebP(data []byte) bool {
	return len(data) > 20 && string(data[8:16]) == "WEBPVP8X" && data[20]&2 != 0
}

// smallestEdge is the size at which scaling down to fit the size in bytes gives up.
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
	return Picture{}, fmt.Errorf("scale the image: it does not fit %s at any useful size",
		humanize.Bytes(int64(limits.Bytes)))
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

// reduce scales img down to w by h: a pixel is the mean of those that it covers. Besides the result it needs memory for
// one line; the scalers of x/image take 32 bytes for every pixel of a picture that is scaled in one direction only, 100
// MB for an ordinary photograph.
func reduce(img image.Image, w, h int) *image.NRGBA {
	b := img.Bounds()
	columns := spread(b.Dx(), w)
	rows := spread(b.Dy(), h)
	line := make([]float32, 4*(w+1)) // one more, for the overflow of the last column
	next := make([]float32, 4*(w+1))
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	at := pixels(img)
	for sy, row := range rows {
		for sx, column := range columns {
			c := at(b.Min.X+sx, b.Min.Y+sy)
			if c.A == 0 {
				continue
			}
			rgba := [4]float32{float32(c.R), float32(c.G), float32(c.B), float32(c.A)}
			add(line[4*column.to:], rgba, column.share*row.share)
			if column.share < 1 {
				add(line[4*column.to+4:], rgba, (1-column.share)*row.share)
			}
			if row.share < 1 {
				add(next[4*column.to:], rgba, column.share*(1-row.share))
				add(next[4*column.to+4:], rgba, (1-column.share)*(1-row.share))
			}
		}
		if last := sy == len(rows)-1; last || rows[sy+1].to != row.to || row.share < 1 {
			put(out, row.to, line, float32(w)/float32(b.Dx())*float32(h)/float32(b.Dy()))
			line, next = next, line
			clear(next)
		}
	}
	return out
}

// portion maps a pixel of the source to one of the result, with its share; the rest belongs to the next one.
type portion struct {
	to    int
	share float32
}

// spread maps from positions to at most as many.
func spread(from, to int) []portion {
	out := make([]portion, from)
	for i := range out {
		begin, end := i*to, (i+1)*to // in units of 1/from of a position of the result
		n := begin / from
		share := float32(1)
		if border := (n + 1) * from; end > border {
			share = float32(border-begin) / float32(end-begin)
		}
		out[i] = portion{n, share}
	}
	return out
}

func add(sum []float32, rgba [4]float32, weight float32) {
	for i, v := range rgba {
		sum[i] += v * weight
	}
}

// put writes a line of sums.
func put(out *image.NRGBA, y int, line []float32, scale float32) {
	for x := range out.Rect.Dx() {
		sum := line[4*x:]
		a := sum[3] * scale
		if a < 1 {
			continue
		}
		full := 255 / a * scale // sums are of colors multiplied by alpha
		out.SetNRGBA(x, y, color.NRGBA{level(sum[0] * full), level(sum[1] * full), level(sum[2] * full),
			level(a * 255 / 0xffff)})
	}
}

func level(v float32) uint8 { return uint8(min(max(v+0.5, 0), 255)) }

// pixels returns a function that reads pixels, without allocating a value for each if possible.
func pixels(img image.Image) func(x, y int) color.RGBA64 {
	if fast, ok := img.(image.RGBA64Image); ok {
		return fast.RGBA64At
	}
	return func(x, y int) color.RGBA64 {
		r, g, b, a := img.At(x, y).RGBA()
		return color.RGBA64{uint16(r), uint16(g), uint16(b), uint16(a)}
	}
}

// orientation reads the Exif orientation of a JPEG, 1 to 8; 1 is upright. Cameras store pictures as the sensor saw them
// and leave the rotation to the viewer.
func orientation(data []byte) int {
	if len(data) < 4 || data[0] != 0xFF || data[1] != 0xD8 {
		return 1
	}
	for at := 2; at+4 <= len(data) && data[at] == 0xFF; {
		marker, size := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xDA || size < 2 || at+2+size > len(data) {
			return 1
		}
		if segment := data[at+4 : at+2+size]; marker == 0xE1 && len(segment) > 6 &&
			string(segment[:6]) == "Exif\x00\x00" {
			return exifOrientation(segment[6:])
		}
		at += 2 + size
	}
	return 1
}

// exifOrientation reads tag 0x0112 in the first directory of the TIFF structure of Exif.
func exifOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == 0x0112 {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// turn rotates img upright.
func turn(img *image.NRGBA, orientation int) *image.NRGBA {
	if orientation <= 1 || orientation > 8 {
		return img
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	outW, outH := w, h
	if orientation >= 5 {
		outW, outH = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, outW, outH))
	for y := range h {
		for x := range w {
			var tx, ty int
			switch orientation {
			case 2:
				tx, ty = w-1-x, y
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				tx, ty = x, h-1-y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(out.Pix[out.PixOffset(tx, ty):][:4], img.Pix[img.PixOffset(x, y):][:4])
		}
	}
	return out
}
