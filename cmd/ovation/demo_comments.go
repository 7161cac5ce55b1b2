package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ovation/storage"
)

// demoComments is the number of comments in the demo data, not counting comments on
// clips. It includes replies, which make up a third.
const demoComments = 900

// demoTexts holds comments that fit any subject, and demoReplies holds replies that fit
// any comment. Some texts are long or in other scripts, as in real comments.
var (
	demoTexts = []string{
		"Saved this for the weekend.",
		"I have tried three other explanations of this. This is the first one that stuck.",
		"Came for the title, stayed for the last two minutes.",
		"Does anybody know whether there is a second part?",
		"My grandfather did it exactly like this and never wrote it down. Thank you.",
		"The bit in the middle is wrong, I think. Or it depends on where you live.",
		"Short, kind, and to the point. More of these, please.",
		"I was sceptical. I tried it. I was wrong.",
		"Shared with the whole team 😄",
		"Can we talk about how good the pictures are?",
		"First time here. Is everything this good?",
		"Works on a small budget too: I spent nothing, borrowed the rest, and it took two evenings.\n\nWhat I would do differently:\n– start earlier\n– measure twice\n– not do it in the rain",
		"Third time today. No regrets.",
		"Somebody finally said it.",
		"Très bien expliqué, merci !",
		"とても参考になりました。ありがとうございます。", //nolint:gosmopolitan // comments come in any script
		"شكرا على هذا الشرح الواضح",
		"Endlich verständlich. Danke!",
		"¿Hay una versión más larga?",
		"I disagree with nearly all of it and still enjoyed every minute.",
		"Bookmarked, printed, and now on the fridge.",
		"The comments here are the nicest I have seen in years.",
		"Tip: it gets a lot easier once you stop trying to be fast.",
		"How long did this take you to make?",
		"I fell asleep. In the best possible way.",
	}
	demoReplies = []string{
		"Same here!",
		"There is, it comes next month.",
		"I had the same question.",
		"It does depend on where you live, yes.",
		"Thank you, that helped.",
		"Two weekends, and most of that was waiting.",
		"Not for me, to be honest. Glad it works for you though.",
		"👏👏👏",
		"Could you say more about the second step?",
		"This should be pinned.",
		"Agreed.",
		"Source?",
	}
)

// comments adds comments and replies, and returns a message with likes of the comments
// and replies. The comments date from the start of the program, because the store assigns
// their times.
func (d *demo) comments(ctx context.Context, store storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoCommentsID, Forever: true}
	texts := make([]storage.NewComment, demoComments*2/3)
	for i := range texts {
		texts[i] = storage.NewComment{
			Subject: d.subjects[d.popular.Uint64()], User: d.somebody(), Text: demoTexts[d.random.IntN(len(demoTexts))],
			RequestID: "demo-" + strconv.Itoa(i),
		}
	}
	said, err := addDemoComments(ctx, store, texts)
	if err != nil {
		return m, err
	}
	replies := make([]storage.NewComment, demoComments-len(texts))
	for i := range replies {
		to := said[d.random.IntN(len(said))]
		replies[i] = storage.NewComment{
			Subject: to.Subject, ParentID: to.Number, User: d.somebody(), Text: demoReplies[d.random.IntN(len(demoReplies))],
			RequestID: "demo-reply-" + strconv.Itoa(i),
		}
	}
	answers, err := addDemoComments(ctx, store, replies)
	if err != nil {
		return m, err
	}
	for _, c := range slices.Concat(said, answers) { // the times of the likes lie within the last demoDays days
		for range d.random.IntN(1 + d.random.IntN(14)) {
			m.Actions = append(m.Actions, storage.Action{
				User: d.somebody(), Subject: c.Key().Subject(), Kind: storage.KindReaction, Reaction: storage.Like,
				Version: storage.Micros(d.now.Add(-time.Duration(d.random.Int64N(int64(demoDays * 24 * time.Hour))))),
			})
		}
	}
	return m, nil
}

// somebody returns a random user. Active users are chosen more often than others.
func (d *demo) somebody() storage.User { return d.user(int(d.active.Uint64())) }

func addDemoComments(ctx context.Context, store storage.Store, comments []storage.NewComment) ([]*storage.Comment, error) {
	added, err := store.AddComments(ctx, comments)
	if err != nil {
		return nil, err
	}
	out := make([]*storage.Comment, len(added))
	for i, a := range added {
		if a.Err != nil {
			return nil, a.Err
		}
		out[i] = a.Comment
	}
	return out, nil
}
