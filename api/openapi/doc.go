// Package openapi holds the OpenAPI 3.1 document of what Ovation serves beside GraphQL:
// the API for mini Douyin clients (package douyin), and uploads and files (package media).
//
//	base.yaml                           what the parts share
//	douyin.yaml, douyin-schemas.yaml    paths below /douyin/
//	media.yaml                          paths below /media/
//
// The document of a server has the parts that the server serves.
//
// # Invariants
//
//   - The document is valid OpenAPI, and everything in it has a description and bounds:
//     TestDocumentIsValid, TestEverythingIsDescribed.
//   - It has every path, method and parameter that is served, and no other:
//     TestDocumentHasEveryEndpoint in package douyin, TestDocumentHasEveryFile in package
//     media, TestDocumentIsServed in cmd/ovation. Its bounds are those of the code:
//     TestBoundsAreThoseOfTheCode.
//   - Replies are as described: the tests of packages douyin and media compare every reply
//     that they receive, by internal/testing/openapitest.
//
// This package imports no other package of this module.
package openapi
