// Package web holds the pages that are built into the binary and serves them:
// GraphiQL at /, a page to explore the API with, that works with no internet.
//
// The pages are written in JavaScript, one folder for each beside this file,
// and built by npm into dist (see package.json). A build without npm has the
// placeholder alone, which says how to get the rest.
//
// It imports the standard library only.
package web
