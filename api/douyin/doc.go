// Package douyin is a second API of a site that publishes videos: the HTTP API of the
// public "mini Douyin" clients, below /douyin/. docs/douyin.md lists its endpoints, each
// with the corresponding GraphQL operation.
//
// It has no logic of its own. Every endpoint calls what the resolvers call: packages
// accounts and media, the recorder, comments and messages of package worker and, for all
// reads, package loaders. It is wrapped in the same middleware as GraphQL
// (resolvers/transport): logging, metrics, rate limits and checks of cross-origin
// requests. Only the format of requests and replies is its own:
//
//	api.Authenticate → call → endpoint → (loaders | worker | accounts | media) → reply
//
// # Invariants
//
//   - An ordinary client of that API works: TestEveryEndpoint, and TestDouyinClient and
//     TestDouyinOverTwoNodes in cmd/ovation.
//   - Every reply is JSON with the HTTP status 200, and has status_code, status_msg and
//     the fields of its endpoint: TestErrorsAreReplies, TestAPanicIsAReply. An error
//     stores nothing: TestHostileParametersAreRefused, TestHostileUploadsAreRefused.
//   - The OpenAPI document (package openapi) describes every endpoint, parameter and
//     reply: TestDocumentHasEveryEndpoint, TestDocumentHasEveryParameter; all other tests
//     compare the replies that they receive.
//   - Walls: messages between other users, and anything else that the token does not
//     permit, are refused as GraphQL refuses them: TestWalls,
//     TestTokensOfOthersAreIgnored.
//   - Bounded: a page costs a constant number of calls: TestConstantNumberOfCalls.
//     Parameters, uploads and rates are limited: TestHostileParametersAreRefused,
//     TestRatesAreLimited, TestLongSlowUploadIsCutOff.
//   - A feed that is paged by its next_time shows every video once: TestFeedIsPagedByTime.
//   - Neither tokens nor passwords are logged: TestSecretsAreNotLogged.
//
// This package imports storage, loaders, worker, accounts, media, outage and, below
// resolvers, codes, viewer, rate and transport.
package douyin
