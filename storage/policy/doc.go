// Package policy reads the configuration file of a site: for each tenant and each kind of
// content, what may be done, by whom, how often, and who sees the result. A Policy is
// parsed once and never changes; a Handle holds the one in use, so that a file can be
// reloaded while requests are served. The package decides nothing about requests: package
// api/enforce does, for all APIs.
//
// The format is YAML, of which JSON is a part. One table (settingsShape, siteShape) both
// reads it and describes it as a JSON Schema.
//
// # Invariants
//
//   - A file is used as a whole or not at all; an error lists every problem (up to 20)
//     with line, column, field and what is allowed: TestProblemsHavePositions.
//   - Whatever the file, reading it takes bounded time and memory, aliases included:
//     TestHostileFilesAreRefused, FuzzParse.
//   - A setting prevails over those from which it inherits: defaults, kind of content,
//     defaults of the tenant, kind of content of the tenant, in this order:
//     TestSettingsAreInherited.
//   - The schema accepts what Parse accepts: TestTheSchemaDescribesTheFile.
//   - An operation that has pinned a policy sees no other: TestAPinnedPolicyStays.
//
// This package imports storage and no other package of this module.
package policy
