package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	_ "time/tzdata" // for --time-zone where the system has no database of time zones

	"ovation/importer"
	"ovation/importer/archive"
	"ovation/storage"
)

// importCommand imports a file. Its flags override parts of the mapping.
type importCommand struct {
	storeFlags `embed:""`

	File string `arg:"" help:"The file, plain, gzip, bzip2, zstd or zip; - is standard input."`

	Map       string `help:"Mapping to begin with: a name (deskdrop, getstream, hasura, interactive, mastodon_bookmarks, mastodon_likes, postgraphile, user_collection_biz, user_like, user_like_biz, user_like_stat, work_likes), or a JSON file as shown above." placeholder:"NAME" env:"OVATION_IMPORT_MAP"`
	Subjects  bool   `help:"The file declares authors: columns biz, bizId, author and at." env:"OVATION_IMPORT_SUBJECTS"`
	Format    string `help:"Format; if empty, detected from the file's name or first line." placeholder:"csv|json|ndjson" type:"format" env:"OVATION_IMPORT_FORMAT"`
	Delimiter string `help:"Separator of CSV fields: one character, for example ';', or tab; if empty, detected from the header." placeholder:"CHARACTER" type:"delimiter" env:"OVATION_IMPORT_DELIMITER"`
	Rows      string `help:"Path of the list of rows in a JSON document, for example data.likes; if empty, its first list of objects." placeholder:"PATH" env:"OVATION_IMPORT_ROWS"`
	Tenant    string `default:"default" help:"Tenant to import into." type:"tenant" env:"OVATION_IMPORT_TENANT"`
	Strict    bool   `help:"Stop at the first bad row."                               env:"OVATION_IMPORT_STRICT"`
	LogEvents bool   `help:"Log every change as an event, as ovation serve --events does." env:"OVATION_IMPORT_LOG_EVENTS"`
	DryRun    bool   `help:"Import nothing; show the first five rows as they are understood, and what would be imported." env:"OVATION_IMPORT_DRY_RUN"`

	Biz       string            `help:"Kind of content of every row, for example article." placeholder:"BIZ" type:"biz" env:"OVATION_IMPORT_BIZ"`
	BizColumn string            `help:"Column of the kind of content, instead of --biz (biz)."                                                               placeholder:"COLUMN"          env:"OVATION_IMPORT_BIZ_COLUMN"`
	Columns   []string          `help:"Names of the columns of a CSV file without a header, in order; an empty name skips a column." placeholder:"NAME,…" sep:"," env:"OVATION_IMPORT_COLUMNS"`
	User      string            `help:"Column of the user's id (user)."                                                                  placeholder:"COLUMN"          env:"OVATION_IMPORT_USER"`
	UserID    string            `name:"user-id" help:"User of every row, instead of --user, for a file of one user." placeholder:"USER" type:"user" env:"OVATION_IMPORT_USER_ID"`
	Subject   string            `help:"Column of the content's id (subject)."                                                            placeholder:"COLUMN"          env:"OVATION_IMPORT_SUBJECT"`
	All       string            `help:"Action of every row, for a file without a column for it: one that --events names, except skip." placeholder:"ACTION" type:"action" env:"OVATION_IMPORT_ALL"`
	Event     string            `help:"Column of the event's name (event)."                                                          placeholder:"COLUMN"          env:"OVATION_IMPORT_EVENT"`
	Events    map[string]string `help:"Meanings of the values of that column: read, like, dislike, clear, unlike, undislike, collect, uncollect, follow, unfollow, author, comment or skip." mapsep:","                    placeholder:"VALUE=ACTION,…"         env:"OVATION_IMPORT_EVENTS"`
	Unmapped  string            `help:"Rows with other events: skip counts them, bad makes them bad rows (skip)." placeholder:"skip|bad" type:"unmapped" env:"OVATION_IMPORT_UNMAPPED"`
	Deleted   string            `help:"Column that marks rows as deleted, by a time, 1, t or true; a deleted row undoes its action." placeholder:"COLUMN" env:"OVATION_IMPORT_DELETED"`
	Folder    string            `help:"Column of a collection's folder: a name, or an id with --folder-names. Missing folders are created." placeholder:"COLUMN" env:"OVATION_IMPORT_FOLDER"`
	Counts    map[string]string `help:"The file is a table of counts, in these columns: read, like, dislike, collect, follow. Missing reads are added, other counts compared." mapsep:"," placeholder:"COUNT=COLUMN,…" env:"OVATION_IMPORT_COUNTS"`
	Time      string            `help:"Column of the time (time)."                                                                       placeholder:"COLUMN"          env:"OVATION_IMPORT_TIME"`
	TimeUnit  string            `help:"Unit of the time: s, ms or us since 1970, rfc3339, or auto for any of them and the times of databases (rfc3339)." placeholder:"UNIT" type:"unit" env:"OVATION_IMPORT_TIME_UNIT"`

	TimeFormat string `help:"Format of the time instead of a unit, for example %Y-%m-%d %H:%M:%S." placeholder:"FORMAT" env:"OVATION_IMPORT_TIME_FORMAT"`
	TimeZone   string `help:"Zone of times whose format has none, for example Europe/Berlin or +02:00 (UTC)." placeholder:"ZONE" type:"zone" env:"OVATION_IMPORT_TIME_ZONE"`
	At         string `help:"Time of the first row of a file without times, RFC 3339 or a date; each further row is a microsecond later." placeholder:"TIME" type:"at" env:"OVATION_IMPORT_AT"`

	FolderNames string `help:"File with the names of folders: columns id and name, in the formats above." placeholder:"FILE" env:"OVATION_IMPORT_FOLDER_NAMES"`

	Text        string `help:"Column of a comment's text, for files with comments." placeholder:"COLUMN" env:"OVATION_IMPORT_TEXT"`
	Placeholder string `help:"Text of comments that have none; if not set, they are bad rows." placeholder:"TEXT" type:"comment" env:"OVATION_IMPORT_PLACEHOLDER"`
}

// Help returns the text between the command's summary and its flags.
func (*importCommand) Help() string {
	return `Without flags and mapping, the columns (in JSON: members) are user, biz, subject, event and time (RFC 3339), and events have the names of the actions; these defaults are in brackets below. Other columns are ignored.

The mapping deskdrop is for CI&T Deskdrop, a public data set of one year of a content-sharing platform. The texts of its comments were not published: each gets a text that says so. The other mappings are for the exports of other systems and for tables of that name; docs/import-from.md describes them. Flags change a mapping: --map work_likes --subject video_id, for example. A mapping file is a JSON object with the names of these flags, all optional:

  {"biz": "article", "user": "personId", "subject": "contentId", "event": "eventType",
   "time": "timestamp", "timeUnit": "s", "events": {"VIEW": "read", "LIKE": "like", "FOLLOW": "follow"}}

or "bizColumn" for "biz", "all" for "event" and "events", "columns" (an array), "timeFormat" and "timeZone" for "timeUnit", "userId" for "user", "at" for "time", "unmapped", "deleted", "counts", "folder", "optional" (an array of columns that may be missing), "text" and "placeholder" for comments, "rows" and "delimiter". Its events replace the default names; --events adds to them and overrides them. Rows with other events are skipped and counted.

A file without a header needs the names of its columns; times in another form than RFC 3339 need their unit or format:

  ovation import --biz item --columns user,subject,,event,time --time-unit s --events pv=read,fav=collect,buy=skip,cart=skip shop.csv
  ovation import --biz video --all read --time-format '%Y-%m-%d %H:%M:%S' --time-zone Asia/Shanghai views.csv
  ovation import --biz song --all read --columns user,,subject --delimiter tab --at 2026-01-31 plays.tsv

Formats know %Y %m %d %H %M %S %f %y %b %a %I %p %z %e %F %T and %%; a fraction may follow %S. A time that occurs twice because clocks were put back is the first of the two; a time that does not exist is a bad row. Numbers may have a fraction and an exponent.

A user that is empty, NULL, null, \N, nan, NaN, None or NA is anonymous: reads count, other actions are bad rows. A subject that is one of these words is a bad row. In JSON, members that are null and members that are absent are the same as empty fields; user.id is the member id of the member user.

If nothing fits, the error names the flags to add. --dry-run shows how rows are understood.

Comments get the time of their row and appear in lists at that time. Their texts follow the rules of the API: 1 to 2,000 characters, without control characters. Replies cannot be imported.

Collections go to the default folders of their users, or with --folder to the folder that the column names: --folder cid --folder-names collection.tsv. A folder that its user does not have is created, once; without a name in --folder-names the value is the name. Empty values and 0 stand for the default folder. Once a user has 1,000 folders, further items go to the default folder and are counted.

With --subjects each row declares the author of a subject: columns biz, bizId, author (none if it is empty or one of these words) and at (the time since when, not in the future). --user names another column for the author, --subject and --time for bizId and at. The totals and works of authors are updated. If a subject has several declarations, including those by the API, the one with the latest time wins.

While nodes use Redis, an import into their database requires OVATION_REDIS_URL as well, so that they show its changes.

A file of ovation export needs no mapping: it is recognised, checked as a whole, and merged with what there is. Ids and times are kept. For each state, folder and comment, the latest change counts; of two numbers of reads of one subject by one user, the higher one.

A file takes effect once: importing it again with the same flags changes nothing, an import that was stopped resumes, and for a file that has grown only the new rows are imported. A file in which a row was changed or removed is a different file from that row on, and its reads count again: put corrected rows into a separate file.

With --counts each row has the counts of a subject. Reads that the database lacks are added as reads of anonymous users; counts of likes and the like come from the imported states, so they are compared and not imported.

Exit codes: 0 imported, 1 failed, 2 wrong flags, 3 some rows were bad, none had an event that is mapped to an action, users had too many folders, or counts differ.`
}

// Run imports the file and prints a summary.
func (c *importCommand) Run(p *program) (err error) {
	if err := c.check(p.getenv); err != nil {
		return err
	}
	mapping, err := c.mapping()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	names, err := c.folderNames(p.ctx, mapping)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	src, err := importer.Open(p.ctx, c.File, p.stdin, c.Format)
	if err != nil {
		return c.verdict(importer.Result{}, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	start := src.Peek(archive.HeaderSize)
	if err := p.ctx.Err(); err != nil {
		return c.verdict(importer.Result{}, err) // stopped while standard input was awaited
	}
	if archive.Is(start) {
		return c.importArchive(p, src, mapping)
	}
	if c.DryRun {
		return c.preview(p, src, mapping, names)
	}
	return c.withStore(p, func(store storage.Store) error {
		told, done := progress(p.stderr, src.Size())
		options := importer.Options{Mapping: mapping, Tenant: c.Tenant, Strict: c.Strict, FolderNames: names, Progress: told}
		var result importer.Result
		var err error
		if len(mapping.Counts) > 0 {
			result, err = importer.ImportCounts(p.ctx, store, src, options)
		} else {
			result, err = importer.Import(p.ctx, store, src, options)
		}
		done()
		summarize(p.stdout, result, mapping.Placeholder, "imported")
		return c.verdict(result, err)
	})
}

// folderNames returns the names in the file of --folder-names, if there is one.
func (c *importCommand) folderNames(ctx context.Context, m importer.Mapping) (names map[string]string, err error) {
	switch {
	case c.FolderNames == "":
		return names, nil
	case m.Folder == "":
		return nil, errors.New("--folder-names or OVATION_IMPORT_FOLDER_NAMES needs the column of the folder: --folder")
	case c.FolderNames == "-":
		return nil, errors.New("--folder-names or OVATION_IMPORT_FOLDER_NAMES must name a file")
	}
	src, err := importer.Open(ctx, c.FolderNames, nil, "")
	if err == nil {
		names, err = importer.ReadFolderNames(src)
		err = errors.Join(err, src.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("--folder-names or OVATION_IMPORT_FOLDER_NAMES: %s: %w", c.FolderNames, err)
	}
	return names, nil
}

// withStore calls the function do with the store to import into.
func (c *importCommand) withStore(p *program, do func(storage.Store) error) (err error) {
	unlock, err := c.lock(importLock, "imports into")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	store, err := c.openToWrite(p.ctx, true, eventsFlag{Events: c.LogEvents}.eventOptions(siteConfig{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(store)
}

// mapping returns the mapping that --subjects or --map selects, or the default mapping if
// neither is set. The result includes the changes that the other flags make.
func (c *importCommand) mapping() (importer.Mapping, error) {
	m := importer.DefaultMapping()
	switch {
	case c.Subjects && (c.Map != "" || c.All != "" || c.Event != "" || len(c.Events) > 0):
		return m, errors.New("--subjects or OVATION_IMPORT_SUBJECTS, and --map, --all, --event, --events or their variables, exclude each other")
	case c.Subjects:
		m = importer.SubjectsMapping()
	case c.Map != "":
		var err error
		if m, err = importer.LoadMapping(c.Map); err == nil {
			err = c.complete(&m)
		}
		if err != nil {
			return m, fmt.Errorf("--map or OVATION_IMPORT_MAP: %w", err)
		}
	case len(c.Events) > 0:
		m.Events = map[string]string{} // --events replaces all default events
	}
	if err := c.counts(&m); err != nil {
		return m, err
	}
	switch {
	case c.User != "" && c.UserID != "":
		return m, errors.New("--user or OVATION_IMPORT_USER, and --user-id or OVATION_IMPORT_USER_ID, exclude each other")
	case c.UserID != "":
		m.User, m.UserID = "", c.UserID
	case c.User != "":
		m.User, m.UserID = c.User, ""
	}
	switch {
	case c.All != "" && (c.Event != "" || len(c.Events) > 0):
		return m, errors.New("--all or OVATION_IMPORT_ALL, and --event, --events or their variables, exclude each other")
	case c.All != "":
		m.All, m.Event, m.Events = c.All, "", nil
	case m.All != "" && (c.Event != "" || len(c.Events) > 0):
		m.All, m.Event, m.Events = "", importer.DefaultMapping().Event, map[string]string{}
	}
	switch {
	case c.Biz != "" && c.BizColumn != "":
		return m, errors.New("--biz or OVATION_IMPORT_BIZ, and --biz-column or OVATION_IMPORT_BIZ_COLUMN, exclude each other")
	case c.Biz != "":
		m.Biz, m.BizColumn = c.Biz, ""
	case c.BizColumn != "":
		m.Biz, m.BizColumn = "", c.BizColumn
	}
	if err := c.times(&m); err != nil {
		return m, err
	}
	if len(c.Columns) > 0 {
		m.Columns = c.Columns
	}
	m.Subject = cmp.Or(c.Subject, m.Subject)
	m.Event = cmp.Or(c.Event, m.Event)
	m.Delimiter = cmp.Or(c.Delimiter, m.Delimiter)
	m.Rows = cmp.Or(c.Rows, m.Rows)
	m.Unmapped = cmp.Or(c.Unmapped, m.Unmapped)
	m.Deleted = cmp.Or(c.Deleted, m.Deleted)
	m.Folder = cmp.Or(c.Folder, m.Folder)
	m.Text = cmp.Or(c.Text, m.Text)
	m.Placeholder = cmp.Or(c.Placeholder, m.Placeholder)
	maps.Copy(m.Events, c.Events)
	if err := m.Validate(); err != nil && len(m.Counts) > 0 {
		return m, fmt.Errorf("--counts or OVATION_IMPORT_COUNTS: %w", err)
	} else if err != nil {
		return m, fmt.Errorf("--events or OVATION_IMPORT_EVENTS: %w", err) // all other members have been checked already
	}
	return m, nil
}

// complete sets what a mapping leaves open and validates the mapping.
func (c *importCommand) complete(m *importer.Mapping) error {
	open := m.Open()
	for _, o := range open {
		switch o.Member {
		case "userId":
			m.User, m.UserID = c.User, c.UserID
		case "at":
			m.Time, m.At = c.Time, c.At
		}
	}
	if open = m.Open(); len(open) > 0 {
		return fmt.Errorf("files of this mapping do not name the user or the time of their rows%s", suggestFlags(open))
	}
	return m.Validate()
}

// counts makes the mapping that of a table of counts if --counts is set.
func (c *importCommand) counts(m *importer.Mapping) error {
	if len(c.Counts) == 0 && len(m.Counts) == 0 {
		return nil
	}
	if c.Subjects || c.User != "" || c.UserID != "" || c.All != "" || c.Event != "" || len(c.Events) > 0 || c.Deleted != "" || c.Text != "" || c.Folder != "" {
		return errors.New("a table of counts (--counts, OVATION_IMPORT_COUNTS or a mapping with counts) excludes --subjects, --user, --user-id, --all, --event, --events, --deleted, --text, --folder and their variables")
	}
	if len(m.Counts) == 0 {
		m.Counts, m.User, m.All, m.Event, m.Events = map[string]string{}, "", "", "", nil
	}
	maps.Copy(m.Counts, c.Counts)
	return nil
}

// times applies the flags of times to a mapping. A flag replaces the members of the
// mapping that say the same in another way.
func (c *importCommand) times(m *importer.Mapping) error {
	switch {
	case c.At != "" && (c.Time != "" || c.TimeUnit != "" || c.TimeFormat != "" || c.TimeZone != ""):
		return errors.New("--at or OVATION_IMPORT_AT, and --time, --time-unit, --time-format, --time-zone or their variables, exclude each other")
	case c.TimeUnit != "" && (c.TimeFormat != "" || c.TimeZone != ""):
		return errors.New("--time-unit or OVATION_IMPORT_TIME_UNIT, and --time-format, --time-zone or their variables, exclude each other")
	case c.At != "":
		m.At, m.Time, m.TimeFormat, m.TimeZone = c.At, "", "", ""
	case c.Time != "":
		m.Time, m.At = c.Time, ""
	}
	if c.TimeUnit != "" {
		m.TimeUnit, m.TimeFormat, m.TimeZone = c.TimeUnit, "", ""
	}
	m.TimeFormat, m.TimeZone = cmp.Or(c.TimeFormat, m.TimeFormat), cmp.Or(c.TimeZone, m.TimeZone)
	if err := m.ValidateTimes(); err != nil {
		return fmt.Errorf("--time-format, --time-zone or their variables: %w", err)
	}
	return nil
}

// summarize prints what an import did, or what it would do. placeholder is the text that
// was given to comments without text, and imported the word for rows with an action.
func summarize(to io.Writer, r importer.Result, placeholder, imported string) {
	seconds := r.Elapsed.Seconds()
	sayf(to, "rows          %d in %.2f s (%.0f/s)\n", r.Rows, seconds, float64(r.Rows)/max(seconds, 1e-6))
	for _, done := range r.Imported {
		sayf(to, "%-13s %d × %s\n", imported, done.Rows, done.Action)
	}
	if r.Anonymous > 0 {
		sayf(to, "anonymous     %d rows whose user is NULL, \\N, nan or the like\n", r.Anonymous)
	}
	if r.Authorless > 0 {
		sayf(to, "no author     %d rows whose author is NULL, \\N, nan or the like\n", r.Authorless)
	}
	if r.Textless > 0 {
		sayf(to, "without text  %d × comment, which reads %q\n", r.Textless, placeholder)
	}
	if r.Unfiled > 0 {
		sayf(to, "unfiled       %d × collect, into the default folder, because the user has %d folders\n", r.Unfiled, storage.MaxFolders)
	}
	if r.Already > 0 {
		sayf(to, "already there %d\n", r.Already)
	}
	for _, s := range r.Skipped {
		if s.Event == "" {
			sayf(to, "skipped       %d: %s\n", s.Rows, s.Reason)
			continue
		}
		sayf(to, "skipped       %d × %q: %s\n", s.Rows, s.Event, s.Reason)
	}
	summarizeCounts(to, r)
	if r.Bad == 0 {
		return
	}
	sayf(to, "bad           %d\n", r.Bad)
	for _, bad := range r.BadRows {
		sayf(to, "  %v\n", &bad)
	}
	if more := r.Bad - int64(len(r.BadRows)); more > 0 {
		sayf(to, "  and %d more\n", more)
	}
}
