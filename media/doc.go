// Package media receives, stores and serves files: videos that users upload, the covers
// that are made from them, and the pictures of profiles.
//
//	POST /media/videos  → Service → Blobs, then storage.Videos → queue → CoverMaker → ffmpeg
//	POST /media/avatars → Service → Blobs, then the profile in storage.Accounts
//	GET  /media/…       → Files  → Blobs
//
// A Service receives an upload as a stream, recognises its format by its first bytes,
// writes it to the blob store (a folder or an S3 bucket) and then
// publishes it in the database. A CoverMaker takes jobs from a queue (the contract of
// package worker) and runs ffmpeg. A Janitor requests covers that are due and removes
// files that belong to no video and no profile.
//
// # Invariants
//
//   - Whole or not at all: a video that is in the database has all its bytes in the blob
//     store. An upload that ends early, is too large or too slow, or is not a video
//     leaves nothing behind: TestUploadIsStoredWholeOrNotAtAll, TestSlowUploadIsCutOff,
//     TestHostileUploadsAreRefused. Files left by a killed process are swept:
//     TestSweepRemovesUnreferencedFiles, TestKilledUploadLeavesNothing. A file that
//     belongs to a video is never swept: TestSweepKeepsReferencedFiles.
//   - Bounded: a request for a file makes at most two calls to the blob store
//     (TestARequestOpensAFileOnce). Uploads and downloads cost units (TestUploadsCostUnits,
//     TestDownloadsCostUnits). They have shares by user and address (TestUploadsAreBounded,
//     TestDownloadsAreBounded) and minimum rates that rise when places are scarce
//     (TestMinimumRateRisesWhenPlacesAreScarce, TestSlowDownloadIsCutOff). A user
//     publishes a bounded number of videos an hour (TestPublishesOfAUserAreLimited). No
//     transfer waits long for a slow blob store: TestSlowStoreIsCutOff.
//   - A picture of a profile is made anew from the pixels of the uploaded one, upright:
//     TestPicturesBecomeSquares, TestPicturesAreUprightWithoutMetadata. What it takes to
//     decode is bounded: TestHostilePicturesAreRefused, TestPicturesAreDecodedOneAtATime,
//     TestAvatarsOfAUserAreLimited. A refused one leaves nothing:
//     TestRefusedAvatarsLeaveNothing, TestAvatarWhileTheBlobStoreFails.
//   - An uploaded picture belongs to one profile, is kept as long as that names it, and is
//     removed with it: TestUploadedPictureBecomesTheAvatar,
//     TestProfilesDoNotShareUploadedPictures, TestSweepKeepsAvatars,
//     TestErasureRemovesTheAvatar.
//   - No served file runs as a script, whatever it contains:
//     TestFilesAreServedWithTheirTypes. No other blob in the store can be read:
//     TestOnlyFilesAreServed.
//   - A cover is tried three times and then dead-lettered with the reason:
//     TestFailingCoverIsDeadLettered. If ffmpeg hangs, it is killed with all processes
//     that it has started: TestFFmpegThatHangsIsKilled. On Linux, it cannot read the
//     secrets of this process: TestFFmpegCannotReadItsParent in cmd/ovation. If it
//     cannot be started, that is not a try: TestFFmpegThatCannotStartIsNotATry. At most
//     two covers are made at the same time: TestTwoCoversAtOnce. The time of one author's covers is bounded:
//     TestCoversOfOneAuthorDoNotHoldTheQueue. A cover that is dead-lettered is not tried
//     again unless an operator replays its job: TestDeadLetteredCoverIsNotTriedAgain. A
//     lost job is requested again:
//     TestDueCoversAreAskedForAgain.
//   - A blob store belongs to one database: TestBlobsOfAnotherSiteAreRefused.
//
// This package imports storage, worker, outage, api/codes, api/quota, api/rate and
// api/viewer.
package media
