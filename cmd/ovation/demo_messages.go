package main

import (
	"context"
	"strconv"

	"ovation/storage"
)

// demoTalk holds the messages of the demo. The fields from and to are user numbers; see
// demo.user.
var demoTalk = []struct {
	from, to int
	text     string
}{
	{0, 2, "Are you still up for the ridge on Saturday?"},
	{2, 0, "Yes! Weather looks fine until four."},
	{0, 2, "Then we start at six. I bring coffee."},
	{2, 0, "You are a hero ☕"},
	{6, 0, "Hi! I found your folder “Best of the month”. Great picks."},
	{0, 6, "Thank you! Half of them are from the comments, to be honest."},
	{4, 0, "Did the sourdough work out?"},
	{0, 4, "It rose. It also left the bowl, the fridge, and nearly the house."},
	{4, 0, "😂 Next time half the starter."},
	{4, 0, "And send a picture!"},
	{1, 0, "Have you seen the one with the star tracker?"},
	{0, 1, "Twice. I am looking for a door hinge now."},
	{1, 0, "I have two to spare, they squeak a little."},
	{0, 1, "Squeaky stars. Perfect."},
	{1, 2, "Is alice always up this early?"},
	{2, 1, "Every day. Bring earplugs."},
	{8, 1, "Could you share the recipe from your folder?"},
	{2, 0, "One more thing: do we take the train, or your car?"},
	{2, 0, "The train leaves at 5:40, I checked."},
}

// messages sends the messages of demoTalk. It marks all messages to alice as read except
// the last two, which are from carol.
func (d *demo) messages(ctx context.Context, store storage.Store) (storage.Message, error) {
	m := storage.Message{ID: demoMessagesID, Forever: true}
	said := make([]storage.NewDirectMessage, len(demoTalk))
	for i, one := range demoTalk {
		said[i] = storage.NewDirectMessage{From: d.user(one.from), To: d.user(one.to), Text: one.text, RequestID: "demo-message-" + strconv.Itoa(i)}
	}
	unread := len(said) - 2
	added, err := addDemoMessages(ctx, store, said[:unread])
	if err != nil {
		return m, err
	}
	for _, one := range added {
		if one.To != d.user(0) {
			continue
		}
		if _, err := store.MarkRead(ctx, storage.ConversationKey{Owner: one.To, With: one.From}, one.Number); err != nil {
			return m, err
		}
	}
	_, err = addDemoMessages(ctx, store, said[unread:])
	return m, err
}

func addDemoMessages(ctx context.Context, store storage.Store, messages []storage.NewDirectMessage) ([]*storage.DirectMessage, error) {
	added, err := store.AddMessages(ctx, messages)
	if err != nil {
		return nil, err
	}
	out := make([]*storage.DirectMessage, len(added))
	for i, a := range added {
		if a.Err != nil {
			return nil, a.Err
		}
		out[i] = a.Message
	}
	return out, nil
}
