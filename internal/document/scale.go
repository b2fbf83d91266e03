package document

import (
	"image"
	"image/color"
)

// reduce scales img down to w by h: a pixel is the mean of those that it covers. Beside the result it needs one line of
// it; the scalers of x/image take 32 bytes for every pixel of a picture that is scaled in one direction only, 100 MB for
// an ordinary photograph.
func reduce(img image.Image, w, h int) *image.NRGBA {
	b := img.Bounds()
	columns := spread(b.Dx(), w)
	rows := spread(b.Dy(), h)
	line := make([]float32, 4*(w+1)) // one more, for what the last column would give on
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

// portion says to which pixel of the result one of the source belongs, and with which share; the rest is the next one's.
type portion struct {
	to    int
	share float32
}

// spread divides from places among to, which are no more.
func spread(from, to int) []portion {
	out := make([]portion, from)
	for i := range out {
		begin, end := i*to, (i+1)*to // in parts of 1/from of a place of the result
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
		full := 255 / a * scale // sums are of colours times what is seen of them
		out.SetNRGBA(x, y, color.NRGBA{level(sum[0] * full), level(sum[1] * full), level(sum[2] * full), level(a * 255 / 0xffff)})
	}
}

func level(v float32) uint8 { return uint8(min(max(v+0.5, 0), 255)) }

// pixels reads an image without making a value of each of its pixels, where it can.
func pixels(img image.Image) func(x, y int) color.RGBA64 {
	if fast, ok := img.(image.RGBA64Image); ok {
		return fast.RGBA64At
	}
	return func(x, y int) color.RGBA64 {
		r, g, b, a := img.At(x, y).RGBA()
		return color.RGBA64{uint16(r), uint16(g), uint16(b), uint16(a)}
	}
}
