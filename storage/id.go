package storage

// The ids of comments, messages, accounts and videos consist of the milliseconds since
// IDEpoch, shifted left by IDShift, plus a number that distinguishes ids from the same
// millisecond; ids therefore increase with time. They stay below MaxCommentID until 2089.
const (
	IDEpoch = 1_577_836_800_000 // 2020-01-01, in milliseconds since 1970
	IDShift = 12
)

// IDMillis returns the time that an id holds, in milliseconds since 1970.
func IDMillis(id int64) int64 { return id>>IDShift + IDEpoch }

// FirstID returns the lowest id for the given time, which is in milliseconds since 1970.
// Every id from an earlier time is lower. For any time, the result is at least 1 and at
// most MaxCommentID.
func FirstID(millis int64) int64 {
	switch {
	case millis <= IDEpoch:
		return 1
	case millis >= IDMillis(MaxCommentID):
		return MaxCommentID
	}
	return (millis - IDEpoch) << IDShift
}
