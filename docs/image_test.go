package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The workers of docker-compose.yml can make covers of videos: their image has ffmpeg,
// and they share the folder of video files with the nodes.
func TestWorkersOfComposeMakeCovers(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	compose := read("../docker-compose.yml")
	services := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^  (serve|work):\n((?:    .*\n|\n)+)`).FindAllStringSubmatch(compose, -1) {
		services[found[1]] = found[2]
	}
	target := regexp.MustCompile(`(?m)^      target: (\S+)$`).FindStringSubmatch(services["work"])
	if target == nil {
		t.Fatalf("work has no build target:\n%s", services["work"])
	}
	stage := regexp.MustCompile(`(?ms)^FROM \S+ AS ` + target[1] + `$(.*?)(?:^FROM|\z)`).FindString(read("../Dockerfile"))
	if !regexp.MustCompile(`apt-get install .*\bffmpeg\b`).MatchString(stage) {
		t.Errorf("the stage %s installs no ffmpeg:\n%s", target[1], stage)
	}
	for name, service := range services {
		if !strings.Contains(service, "media:/media") {
			t.Errorf("%s does not mount media:/media:\n%s", name, service)
		}
	}
	if len(services) != 2 || !strings.Contains(compose, "OVATION_BLOB_URL: file:///media") || !strings.Contains(services["serve"], "OVATION_VIDEOS") {
		t.Errorf("compose has the services %v, want serve and work, with OVATION_BLOB_URL and, for serve, OVATION_VIDEOS", services)
	}
}

// The comment of docker-compose.yml names each variable that the file takes from .env, and
// no other.
func TestComposeExplainsItsVariables(t *testing.T) {
	text, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	comment, file, _ := strings.Cut(string(text), "\nname: ovation\n")
	names := func(pattern, text string) []string {
		var all []string
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, strings.Fields(found[1])...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	explained := names(`(?m)^#   (?:for name in )?((?:[A-Z_]{6,} ?)+)(?:=|; do)`, comment)
	if taken := names(`\$\{([A-Z_]+)`, file); !slices.Equal(explained, taken) {
		t.Errorf("the comment explains %v, the file takes %v", explained, taken)
	}
}

// Images of others are named by their digests, so that a tag that is moved changes
// nothing. The tag says which version the digest is of.
func TestImagesOfOthersAreNamedByDigest(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$`)
	for path, pattern := range map[string]string{
		"../Dockerfile":         `(?m)^FROM (?:--platform=\S+ )?(\S+)`,
		"../docker-compose.yml": `(?m)^    image: (\S+)`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, image := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			if image[1] == "scratch" || strings.Contains(image[1], "OVATION_IMAGE") {
				continue
			}
			found++
			if !pinned.MatchString(image[1]) {
				t.Errorf("%s: got the image %s, want name:tag@sha256:digest", path, image[1])
			}
		}
		if found != 3 {
			t.Errorf("%s: got %d images of others, want 3", path, found)
		}
	}
}
