package document

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gradient returns a picture whose corners differ: red grows to the right, green to the bottom.
func gradient(w, h int, alpha uint8) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, color.NRGBA{uint8(x * 255 / w), uint8(y * 255 / h), 0, alpha})
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadImage(t *testing.T) {
	var anim bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 200, 100), color.Palette{color.Black, color.White})
	if err := gif.EncodeAll(&anim, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	noise := image.NewNRGBA(image.Rect(0, 0, 300, 300))
	rand.New(rand.NewSource(1)).Read(noise.Pix)
	for _, c := range []struct {
		name   string
		data   []byte
		limits ImageLimits
		want   Picture // without data
	}{
		{"small PNG", pngOf(t, gradient(40, 30, 255)), ImageLimits{}, Picture{MIME: "image/png", Width: 40, Height: 30, SourceWidth: 40, SourceHeight: 30}},
		{"animation", anim.Bytes(), ImageLimits{}, Picture{MIME: "image/gif", Width: 200, Height: 100, SourceWidth: 200, SourceHeight: 100}},
		{"large animation", anim.Bytes(), ImageLimits{Edge: 100}, Picture{MIME: "image/jpeg", Width: 100, Height: 50, SourceWidth: 200, SourceHeight: 100, Scaled: true}},
		{"large PNG", pngOf(t, gradient(1600, 100, 255)), ImageLimits{}, Picture{MIME: "image/jpeg", Width: 1568, Height: 98, SourceWidth: 1600, SourceHeight: 100, Scaled: true}},
		{"large PNG with alpha", pngOf(t, gradient(600, 300, 100)), ImageLimits{Edge: 300}, Picture{MIME: "image/png", Width: 300, Height: 150, SourceWidth: 600, SourceHeight: 300, Scaled: true}},
		{"heavy PNG with alpha", pngOf(t, noise), ImageLimits{Bytes: 100_000}, Picture{MIME: "image/png", Width: 126, Height: 126, SourceWidth: 300, SourceHeight: 300, Scaled: true}},
		{"thin", pngOf(t, gradient(3000, 1, 255)), ImageLimits{}, Picture{MIME: "image/jpeg", Width: 1568, Height: 1, SourceWidth: 3000, SourceHeight: 1, Scaled: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadImage(c.data, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if !c.want.Scaled && !bytes.Equal(got.Data, c.data) {
				t.Error("not passed through as it was")
			}
			if size, _, err := image.DecodeConfig(bytes.NewReader(got.Data)); err != nil || size.Width != got.Width || size.Height != got.Height {
				t.Errorf("the data is %dx%d, %v", size.Width, size.Height, err)
			}
			got.Data = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadImageRefuses(t *testing.T) {
	huge := pngOf(t, gradient(2, 2, 255))
	binary.BigEndian.PutUint32(huge[16:], 60_000) // the size in the header of a file of a few bytes
	binary.BigEndian.PutUint32(huge[20:], 60_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	whole := jpegOf(t, gradient(200, 200, 255))
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"too many pixels", huge, "60000x60000 pixels are more than can be decoded"},
		{"cut off", whole[:len(whole)/2], "decode the JPEG image: it is damaged"},
		{"only a beginning", []byte("\x89PNG\r\n\x1a\n\x00"), "decode the PNG image: it is damaged"},
		{"animated WebP", []byte("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00"), "animated WebP is not supported"},
		{"not an image", []byte("hello"), "a text file is not an image that can be shown"},
	} {
		if _, err := ReadImage(c.data, ImageLimits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// A picture that was scaled lost the mark that says how to turn it, so it must have been turned.
func TestReadImageTurns(t *testing.T) {
	plain := jpegOf(t, gradient(200, 100, 255))
	for o := 1; o <= 8; o++ {
		exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string([]byte{byte(o)}) + "\x00\x00"
		segment := append([]byte{0xFF, 0xE1, 0, byte(len(exif) + 2)}, exif...)
		data := append(append(append([]byte{}, plain[:2]...), segment...), plain[2:]...)
		got, err := ReadImage(data, ImageLimits{Edge: 100})
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(got.Data))
		if err != nil {
			t.Fatal(err)
		}
		b := img.Bounds()
		if b.Dx() != got.Width || b.Dy() != got.Height || (o >= 5) != (b.Dy() > b.Dx()) {
			t.Errorf("orientation %d: %v", o, b)
		}
		// Where the upright picture has the source's first pixel, by the Exif standard: row and column of it.
		corner := map[int]image.Point{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}}[o]
		r, g, _, _ := img.At(corner.X*(b.Dx()-1), corner.Y*(b.Dy()-1)).RGBA()
		if r>>8 > 40 || g>>8 > 40 {
			t.Errorf("orientation %d: the dark corner is not at %v", o, corner)
		}
	}
}
