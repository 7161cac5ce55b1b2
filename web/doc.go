// Package web embeds and serves the web pages: GraphiQL at /, an example feed with live
// counts at /demo for frontend developers to copy from, and, in development, a page at
// /data that shows the stored data. No page needs an Internet connection.
//
// The pages are written in JavaScript and TypeScript, each in a folder next to
// this file, with what they share in the folder shared, and built by npm into dist (see package.json). A build without npm
// contains only the placeholder, which explains how to build the pages.
//
// # Invariants
//
//  1. A page loads files from its own origin only, sends requests to that origin only,
//     and runs no inline script. TestEveryAnswerCarriesTheSecurityHeaders; the checks in
//     a browser (TestLongPagesInABrowser in cmd/ovation) also fail if a page breaks this
//     rule.
//  2. Files that may be cached forever have a hash of their content in their name;
//     pages are revalidated each time. TestAnswersWithTheRightFileTypeAndLifetime,
//     TestAnUnchangedPageIsNotSentTwice.
//
// This package imports the standard library only.
package web
