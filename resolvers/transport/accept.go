package transport

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types of GraphQL responses. Responses of type mediaGraphQL have meaningful
// status codes, mediaJSON is the default for clients that request no media type, and
// mediaEvents is for streams of responses.
const (
	mediaGraphQL = "application/graphql-response+json"
	mediaJSON    = "application/json"
	mediaEvents  = "text/event-stream"
)

// negotiate returns the media type of the response to a request with the given headers.
// The media type is mediaJSON if there is no Accept header, or if mediaJSON and
// mediaGraphQL match only wildcards. negotiate returns false if neither is accepted.
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
	case graphQL.quality > plain.quality, graphQL.quality == plain.quality && graphQL.specificity == exact:
		return mediaGraphQL, true
	}
	return mediaJSON, true
}

// namesEvents reports whether an Accept header explicitly accepts event streams.
// Wildcards do not count, because clients that can process a stream name its media type.
func namesEvents(header http.Header) bool {
	_, _, events := preferences(strings.Join(header.Values("Accept"), ","))
	return events.quality > 0
}

// preferences returns the preference of an Accept header for each kind of response.
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
			graphQL.add(exact, quality)
		case mediaJSON:
			plain.add(exact, quality)
		case mediaEvents:
			events.add(exact, quality)
		case "application/*":
			graphQL.add(anySubtype, quality)
			plain.add(anySubtype, quality)
		case "*/*":
			graphQL.add(anything, quality)
			plain.add(anything, quality)
		}
	}
	return graphQL, plain, events
}

// How specific a media range is. The most specific range that matches counts.
const (
	anything = iota + 1
	anySubtype
	exact
)

type preference struct {
	specificity int
	quality     float64
}

func (p *preference) add(by int, quality float64) {
	if by >= p.specificity {
		*p = preference{by, quality}
	}
}

// isUTF8 reports whether the charset of a media type is UTF-8 or missing.
func isUTF8(parameters map[string]string) bool {
	charset, has := parameters["charset"]
	return !has || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
