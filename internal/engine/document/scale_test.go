package document

import (
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"runtime"
	"testing"
)

// Every pixel of the result is the mean of what it covers: counted out for sizes that divide, and for those that do not
// the mean of the whole stays.
func TestReduce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	src := image.NewNRGBA(image.Rect(3, 5, 3+60, 5+40)) // which does not begin at 0
	for i := range src.Pix {
		src.Pix[i] = uint8(r.IntN(256))
		if i%4 == 3 {
			src.Pix[i] = 255
		}
	}
	for _, size := range []image.Point{{30, 20}, {60, 1}, {1, 40}, {1, 1}, {37, 23}, {59, 39}, {60, 13}} {
		got := reduce(src, size.X, size.Y)
		if got.Bounds().Size() != size || !got.Opaque() {
			t.Fatalf("%v: %v, opaque %v", size, got.Bounds(), got.Opaque())
		}
		if d := mean(src) - mean(got); d > 1 || d < -1 {
			t.Errorf("%v: the mean is off by %.2f", size, d)
		}
		if 60%size.X != 0 || 40%size.Y != 0 {
			continue
		}
		for y := range size.Y {
			for x := range size.X {
				covered := image.Rect(x*60/size.X, y*40/size.Y, (x+1)*60/size.X, (y+1)*40/size.Y).Add(src.Rect.Min)
				want := mean(src.SubImage(covered).(*image.NRGBA))
				if d := want - mean(got.SubImage(image.Rect(x, y, x+1, y+1)).(*image.NRGBA)); d > 1 || d < -1 {
					t.Fatalf("%v: pixel %d,%d is off by %.2f", size, x, y, d)
				}
			}
		}
	}
}

func mean(m *image.NRGBA) float64 {
	sum, n := 0.0, 0
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			c := m.NRGBAAt(x, y)
			sum += float64(c.R) + float64(c.G) + float64(c.B)
			n += 3
		}
	}
	return sum / float64(n)
}

// Invisible pixels have no color to contribute; an edge to them is half transparent, in its own color.
func TestReduceTransparent(t *testing.T) {
	src := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	draw.Draw(src, image.Rect(0, 0, 1, 4), image.NewUniform(color.NRGBA{200, 100, 50, 255}), image.Point{}, draw.Src)
	draw.Draw(src, image.Rect(1, 0, 2, 4), image.NewUniform(color.NRGBA{0, 255, 0, 0}), image.Point{}, draw.Src)
	got := reduce(src, 2, 2)
	if c := got.NRGBAAt(0, 1); c != (color.NRGBA{200, 100, 50, 127}) && c != (color.NRGBA{200, 100, 50, 128}) {
		t.Errorf("the edge is %v", c)
	}
	if c := got.NRGBAAt(1, 1); c.A != 0 {
		t.Errorf("what cannot be seen is %v", c)
	}
	gray := image.NewGray(image.Rect(0, 0, 9, 9))
	draw.Draw(gray, gray.Rect, image.NewUniform(color.Gray{77}), image.Point{}, draw.Src)
	if c := reduce(gray, 4, 4).NRGBAAt(3, 3); c != (color.NRGBA{77, 77, 77, 255}) {
		t.Errorf("gray is %v", c)
	}
}

// A photograph of 6 million pixels is scaled with little more memory than the result takes: it was 100 MB.
func TestReduceMemory(t *testing.T) {
	src := image.NewYCbCr(image.Rect(0, 0, 3000, 2000), image.YCbCrSubsampleRatio420)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reduce(src, 1568, 1045)
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 12 {
		t.Errorf("%d MB", grown)
	}
}
