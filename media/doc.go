// Package media is where files go in and out: videos that users upload, and the covers
// that are made of them.
//
//	POST /media/videos → Service → Blobs, then storage.Videos → queue → CoverMaker → ffmpeg
//	GET  /media/…      → Files  → Blobs
//
// A Service receives an upload as a stream, recognises it by its bytes, writes it to the
// blob store (gocloud.dev/blob: a folder or an S3 bucket) and then publishes it in the
// database. A CoverMaker takes jobs from a queue (the contract of package worker) and runs
// ffmpeg. A Janitor asks again for covers that are due and removes files that no video
// names.
//
// # Invariants
//
//   - Whole or not at all: a video that is in the database has all its bytes in the blob
//     store, and an upload that ends early, is too large, too slow or no video leaves
//     nothing: TestUploadIsStoredWholeOrNotAtAll, TestSlowUploadIsCutOff,
//     TestHostileUploadsAreRefused. What a process that was killed leaves is swept:
//     TestSweepRemovesWhatNoVideoNames, TestKilledUploadLeavesNothing. A file of a video
//     is never swept: TestSweepKeepsWhatVideosName.
//   - Nothing that is served runs as a script, whatever is in the file:
//     TestFilesAreServedAsWhatTheyAre. Nothing else of the blob store can be read:
//     TestOnlyFilesAreServed.
//   - A cover is tried three times and set aside with its reason:
//     TestCoverThatFailsIsSetAside. ffmpeg that hangs is killed with all it has
//     started: TestFFmpegThatHangsIsKilled. At most two run at once:
//     TestTwoCoversAtOnce. A job that is lost is asked for again:
//     TestDueCoversAreAskedForAgain.
//   - A blob store belongs to one database: TestBlobsOfAnotherSiteAreRefused.
//
// This package imports storage, worker, outage and resolvers/viewer.
package media
