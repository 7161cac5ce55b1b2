package transport

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types of GraphQL responses. The first is the one with status codes
// that tell; the second is what clients take that name none; the third is a
// stream of responses.
const (
	mediaGraphQL = "application/graphql-response+json"
	mediaJSON    = "application/json"
	mediaEvents  = "text/event-stream"
)

// negotiate is the media type to answer with, by the Accept header. With no
// header, and where wildcards alone fit, it is mediaJSON. It reports false
// where neither is accepted.
func negotiate(header http.Header) (media string, ok bool) {
	accept := strings.Join(header.Values("Accept"), ",")
	switch strings.TrimSpace(accept) {
	case "", "*/*", mediaJSON:
		return mediaJSON, true
	case mediaGraphQL:
		return mediaGraphQL, true
	}
	switch graphQL, plain, _ := preferences(accept); {
	case graphQL.quality <= 0 && plain.quality <= 0:
		return "", false
	case graphQL.quality > plain.quality, graphQL.quality == plain.quality && graphQL.by == exact:
		return mediaGraphQL, true
	}
	return mediaJSON, true
}

// namesEvents reports whether an Accept header takes event streams by name.
// Wildcards do not count: who knows what to do with a stream asks for it.
func namesEvents(header http.Header) bool {
	_, _, events := preferences(strings.Join(header.Values("Accept"), ","))
	return events.quality > 0
}

// preferences are what an Accept header says of each kind of response.
func preferences(accept string) (graphQL, plain, events preference) {
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil || !isUTF8(parameters) {
			continue
		}
		quality, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if err != nil {
			continue
		}
		switch media {
		case mediaGraphQL:
			graphQL.say(exact, quality)
		case mediaJSON:
			plain.say(exact, quality)
		case mediaEvents:
			events.say(exact, quality)
		case "application/*":
			graphQL.say(anySubtype, quality)
			plain.say(anySubtype, quality)
		case "*/*":
			graphQL.say(anything, quality)
			plain.say(anything, quality)
		}
	}
	return graphQL, plain, events
}

// How closely a media range names a type. The closest one counts.
const (
	anything = iota + 1
	anySubtype
	exact
)

type preference struct {
	by      int
	quality float64
}

func (p *preference) say(by int, quality float64) {
	if by >= p.by {
		*p = preference{by, quality}
	}
}

// isUTF8 reports whether the charset of a media type, if it names one, is
// UTF-8.
func isUTF8(parameters map[string]string) bool {
	charset, has := parameters["charset"]
	return !has || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
