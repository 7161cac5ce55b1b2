package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"ovation/media"
	"ovation/storage"
	"ovation/worker"
)

// eraseCommand erases a user.
type eraseCommand struct {
	storeFlags `embed:""`
	blobFlag   `embed:""`

	User      string `help:"The user's id." placeholder:"USER" required:"" type:"user" env:"OVATION_ERASE_USER"`
	Tenant    string `default:"default" help:"The user's tenant." type:"tenant" env:"OVATION_ERASE_TENANT"`
	LogEvents bool   `help:"Log every change as an event, as ovation serve --events does." env:"OVATION_ERASE_LOG_EVENTS"`

	Yes bool `help:"Erase without asking; required if standard input is not a terminal."`
}

// Help returns the text between the command's summary and its flags.
func (*eraseCommand) Help() string {
	return `It erases the user's reactions, collections, folders, follows, read history, comments, messages, videos with their files, account and profile with its picture, and what others did to the user: follows, likes and comments. Counts and totals follow. A comment with replies keeps its place, without text and author; reads stay counted, as anonymous ones; conversations disappear for both sides.

It runs beside the site, in small transactions. If it is stopped or killed, the same command goes on. For 32 days afterwards, everything that would store data of or about the id is refused; then the id is free. Make sure that no token is issued to the user any more.

Not erased: backups, logs, events (--events-keep), dead letters (see ovation dead), and what a page of another site has copied.

While nodes use Redis, it requires OVATION_REDIS_URL. A user with videos or an uploaded picture requires --blob-url, except in the data folder. The free space of the file in the data folder is overwritten at the end, unless a server uses it: then stop the server and run the same command again.

Exit codes: 0 erased, or erased before; 1 failed, not confirmed, or nothing is stored of or about the user; 2 wrong flags.`
}

// Run erases the user and prints a summary.
func (c *eraseCommand) Run(p *program) (err error) {
	if err := c.check(p.getenv); err != nil {
		return err
	}
	user := storage.User{Tenant: c.Tenant, UserID: c.User}
	if err := c.confirm(p, user); err != nil {
		return err
	}
	store, err := c.openToWrite(p.ctx, false, eventsFlag{Events: c.LogEvents}.eventOptions(siteConfig{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	options := worker.EraserOptions{Store: store, Progress: eraseProgress(p.stderr)}
	closeFiles, err := c.eraseFiles(p.ctx, &options, store, user)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()

	began := time.Now()
	done, err := worker.NewEraser(options).Erase(p.ctx, user)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return fmt.Errorf("nothing is stored of or about %s; check the id and --tenant", describeUser(user))
	case errors.Is(err, storage.ErrVideosLeft):
		return usage("%s has videos: set %s to the value of the nodes", describeUser(user), blobFlagNames)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped after %d rows; the same command goes on", done.Rows)
	case err != nil:
		return fmt.Errorf("%w; %d rows are erased, and the same command goes on", err, done.Rows)
	}
	sayf(p.stdout, "Erased %s: %d rows and %d videos in %.2f s. Nothing of the user is left in %s.\n",
		describeUser(user), done.Rows, done.Videos, time.Since(began).Seconds(), c.place())
	return c.overwrite(p, store)
}

func describeUser(u storage.User) string {
	return fmt.Sprintf("user %q of tenant %s", u.UserID, u.Tenant)
}

// place names the stores that the user is erased from.
func (c *eraseCommand) place() string {
	if c.PostgresURL == "" {
		return "the data folder " + c.Data
	}
	if c.RedisURL == "" {
		return "the database"
	}
	return "the database and Redis"
}

// confirm asks for the id of the user on a terminal, unless --yes is set.
func (c *eraseCommand) confirm(p *program, user storage.User) error {
	if c.Yes {
		return nil
	}
	if file, is := p.stdin.(*os.File); !is || !isatty.IsTerminal(file.Fd()) {
		return usage("this permanently erases %s; standard input is not a terminal, so confirm it with --yes", describeUser(user))
	}
	return confirmID(p.stdin, p.stderr, user)
}

// confirmID asks for the id of a user, and returns an error unless the reply is the id.
func confirmID(from io.Reader, to io.Writer, user storage.User) error {
	sayf(to, "This permanently erases %s. Type the user's id to confirm: ", describeUser(user))
	reply, err := bufio.NewReader(from).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the confirmation: %w", err)
	}
	if strings.TrimSpace(reply) != user.UserID {
		return errors.New("this is not the id; nothing was erased")
	}
	return nil
}

// eraseFiles adds to options the functions that erase videos and the avatar, if the user
// has any and the blob store is known. Without the functions, the user's videos stop the
// erasure. The returned function closes the blob store.
func (c *eraseCommand) eraseFiles(ctx context.Context, options *worker.EraserOptions, store storage.Store, user storage.User) (end func() error, err error) {
	none := func() error { return nil }
	pages, err := store.UserVideos(ctx, []storage.UserVideosQuery{{User: user, Page: storage.Page{First: 1}}})
	if err != nil {
		return none, err
	}
	account, err := store.AccountOf(ctx, user)
	if err != nil {
		return none, err
	}
	pictured := account != nil && account.AvatarFile() != ""
	if len(pages[0].Entries) == 0 && !pictured {
		return none, nil
	}
	at := c.blobFlag
	if at.BlobURL == "" && c.PostgresURL == "" {
		if at.BlobURL, err = media.FolderURL(c.file(mediaFolder)); err != nil {
			return none, err
		}
	}
	if at.BlobURL == "" {
		if pictured {
			return none, usage("%s has an uploaded picture: set %s to the value of the nodes", describeUser(user), blobFlagNames)
		}
		return none, nil
	}
	blobs, err := at.openBlobs(ctx, store)
	if err != nil {
		return none, err
	}
	service := media.New(media.Config{Store: store, Blobs: blobs, Accounts: store, Logger: discardLog})
	options.EraseVideo, options.EraseAvatar = service.Erase, service.EraseAvatar
	return func() error { service.Close(); blobs.Close(); return nil }, nil
}

// eraseProgress returns a function that logs progress every ten seconds.
func eraseProgress(to io.Writer) func(worker.Erasure) {
	const every = 10 * time.Second
	log, last := newLogger(to, slog.LevelInfo), time.Now()
	return func(done worker.Erasure) {
		if time.Since(last) >= every {
			last = time.Now()
			log.Info("erasing", "rows", done.Rows, "videos", done.Videos)
		}
	}
}

// compacter is a store whose file keeps what was removed until it is compacted.
type compacter interface {
	Compact(ctx context.Context) error
}

// overwrite overwrites the free space of the file of the embedded database, which still
// holds what was removed, unless a server uses the file.
func (c *eraseCommand) overwrite(p *program, store storage.Store) error {
	file, is := store.(compacter)
	if !is {
		return nil
	}
	if c.locked(serveLock) {
		sayf(p.stdout, "A server uses the data folder: the free space of %s may still hold parts of it. Stop the server and run the same command again to overwrite it.\n", c.file(databaseFile))
		return nil
	}
	return file.Compact(p.ctx)
}
