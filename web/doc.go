// Package web holds the pages that are built into the binary and serves them:
// GraphiQL at /, to explore the API with, and at /demo a feed with live counts
// that frontend developers can copy from. Both work with no internet.
//
// The pages are written in JavaScript and TypeScript, one folder for each beside
// this file, and built by npm into dist (see package.json). A build without npm
// has the placeholder alone, which says how to get the rest.
//
//  1. A page loads from and talks to its own origin only, and runs no inline
//     script. TestEveryAnswerCarriesTheSecurityHeaders; the checks in a browser
//     (TestPagesInABrowser in cmd/ovation) fail on anything that breaks it.
//  2. What may be cached for ever has a hash of its content in its name; a page
//     is asked for anew each time. TestAnswersWithTheRightFileTypeAndLifetime,
//     TestAnUnchangedPageIsNotSentTwice.
//
// It imports the standard library only.
package web
