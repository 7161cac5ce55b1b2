package picture

import (
	"bytes"
	"image/png"
	"testing"
)

func TestScenesMove(t *testing.T) {
	for _, name := range Scenes() {
		c := NewClip(name, 54, 96)
		draw := func(at float32) []byte {
			out := make([]byte, c.Bytes())
			c.Draw(at, out)
			return out
		}
		first, later := draw(0.1), draw(0.3)
		if bytes.Equal(first, later) {
			t.Errorf("%s shows the same at two times", name)
		}
		if !bytes.Equal(first, draw(0.1)) {
			t.Errorf("%s shows something else when it is drawn again", name)
		}
		if lowest, highest := extremes(first); highest-lowest < 60 {
			t.Errorf("the levels of %s are from %d to %d, want a picture", name, lowest, highest)
		}
	}
}

func extremes(of []byte) (lowest, highest byte) {
	lowest = 255
	for _, v := range of {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	return lowest, highest
}

func TestAvatarsDiffer(t *testing.T) {
	drawn := map[string]bool{}
	draw := func(f Face) {
		content, err := f.EncodePNG()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := png.DecodeConfig(bytes.NewReader(content)); err != nil || got.Width != AvatarSize || got.Height != AvatarSize {
			t.Errorf("the avatar of %+v is of %d by %d pixels, %v, want %d by %d", f, got.Width, got.Height, err, AvatarSize, AvatarSize)
		}
		if drawn[string(content)] {
			t.Errorf("the avatar of %+v is that of another face", f)
		}
		drawn[string(content)] = true
	}
	base := Face{Back: 0xe0c0a0, Skin: 0xc08060, HairColour: 0x402010, Clothes: 0x206040, HatColour: 0xa04040}
	for hair := Bald; hair <= Wavy; hair++ {
		f := base
		f.Hair = hair
		draw(f)
	}
	for hat := Beanie; hat <= Headphones; hat++ {
		f := base
		f.Hat = hat
		draw(f)
	}
	for _, change := range []func(*Face){
		func(f *Face) { f.Glasses = Round }, func(f *Face) { f.Glasses = Square }, func(f *Face) { f.Glasses = Dark },
		func(f *Face) { f.Beard = Stubble }, func(f *Face) { f.Beard = Full }, func(f *Face) { f.Beard = Moustache },
		func(f *Face) { f.Mouth = Grin }, func(f *Face) { f.Mouth = Calm }, func(f *Face) { f.Mouth = Surprised },
		func(f *Face) { f.Collar = VNeck }, func(f *Face) { f.Collar = Shirt }, func(f *Face) { f.Collar = Turtleneck },
		func(f *Face) { f.Collar = Hood }, func(f *Face) { f.Collar = Stripes },
		func(f *Face) { f.Freckles = true }, func(f *Face) { f.Earrings = true }, func(f *Face) { f.Blush = true },
	} {
		f := base
		change(&f)
		draw(f)
	}
}
