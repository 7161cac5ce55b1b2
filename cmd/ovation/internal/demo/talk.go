package demo

import (
	"embed"
	"strings"
)

//go:embed talk/*.txt
var files embed.FS

// The files of comments have a part for each title, which begins with a line "= title",
// and a part "= *" for all titles of the topic. A line is a comment, or a reply to the
// comment above it if it begins with one of the marks.
const (
	partMark   = "= "
	anyTitle   = "*"
	byAnother  = "> " // by another person
	byFirst    = "< " // by the author of the comment
	byTheMaker = "@ " // by the author of the subject
)

// thread is a comment with the replies to it, which keep their marks.
type thread struct {
	text    string
	replies []string
}

// part is the talk about one thing.
type part struct {
	heading string
	threads []thread
}

// lines returns the lines of a file in the folder talk.
func lines(name string) []string {
	text, err := files.ReadFile("talk/" + name + ".txt")
	if err != nil {
		panic(err) // the files are part of the program
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// readTalk returns the parts of a file of comments.
func readTalk(name string) (parts []part) {
	for _, line := range lines(name) {
		if heading, is := strings.CutPrefix(line, partMark); is {
			parts = append(parts, part{heading: heading})
			continue
		}
		p := &parts[len(parts)-1]
		switch line[:2] {
		case byAnother, byFirst, byTheMaker:
			t := &p.threads[len(p.threads)-1]
			t.replies = append(t.replies, line)
		default:
			p.threads = append(p.threads, thread{text: line})
		}
	}
	return parts
}

// topics lists the topics in the order of web/demo/content/catalogue.ts, which is the
// content service of the demo page. A test compares the titles.
var topics = []string{"kitchen", "trails", "night", "workshop", "sea", "city", "garden", "sound", "print", "wheels"}

const videosPerTopic = videos / 10

// catalogue knows what is said about each subject.
type catalogue struct {
	parts [][]part // by topic: its titles, and last the part for all of them
}

func newCatalogue() *catalogue {
	c := new(catalogue)
	for _, topic := range topics {
		c.parts = append(c.parts, readTalk(topic))
	}
	return c
}

// place returns the topic and the title of a video or an article as indexes of
// catalogue.parts. n counts from 0.
func place(biz string, n int) (topic, title int) {
	if biz == "video" {
		return n % len(topics), n / len(topics)
	}
	return (n*3 + 1) % len(topics), n/len(topics) + videosPerTopic
}

// about returns the threads about a title, and those about all titles of its topic.
func (c *catalogue) about(biz string, n int) (own, shared []thread) {
	topic, title := place(biz, n)
	parts := c.parts[topic]
	return parts[title].threads, parts[len(parts)-1].threads
}
