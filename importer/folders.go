package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"ovation/storage"
)

// Store is the part of a store that Import needs.
type Store interface {
	storage.Persister
	FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error)
	ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error)
	Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error)
}

// folder is the folder of a row. The zero folder is the default one.
type folder struct{ value, name string }

// folderSpace is the name space of the ids of imported folders.
var folderSpace = uuid.MustParse("5d0c7f0e-6a0b-4c0e-9a54-3f4f0f5b8a11")

// id returns the id of a user's folder. It follows from the value, so that a folder is
// found again by a later import.
func (f folder) id(owner storage.User) string {
	var text []byte
	for _, word := range [...]string{owner.Tenant, owner.UserID, f.value} {
		text = appendWord(text, word)
	}
	return uuid.NewSHA1(folderSpace, text).String()
}

// folderOf returns the folder of a row: the default one if the value is missing, or 0
// without a name, or if the name is that of default folders.
func (p *parser) folderOf(r *row) (folder, error) {
	value := strings.TrimSpace(r[colFolder])
	if isNothing(value) {
		return folder{}, nil
	}
	name, named := p.folderNames[value]
	switch {
	case !named && value == "0":
		return folder{}, nil
	case !named:
		name = value
	}
	if strings.EqualFold(name, storage.DefaultFolderName) {
		return folder{}, nil
	}
	return folder{value, name}, storage.ValidateFolderName(name)
}

// maxNamesBytes bounds the memory that ReadFolderNames takes.
const maxNamesBytes = 512 << 20

// ReadFolderNames reads a table of folders with the columns id and name, and returns the
// names by id. A folder without a name is left out. Errors: *MappingError; *RowError for
// the first bad row, or if an id has two names; an error if the names do not fit into half
// a gigabyte; errors from src.
func ReadFolderNames(src *Source) (map[string]string, error) {
	rows, err := newRowReader(src, &Mapping{Subject: "id", Text: "name"})
	if err != nil {
		return nil, err
	}
	names, size := map[string]string{}, 0
	for {
		var r row
		if err := rows.next(&r); errors.Is(err, io.EOF) {
			return names, nil
		} else if err != nil {
			return nil, err
		}
		name := strings.TrimSpace(r[colText])
		if isNothing(name) {
			continue
		}
		name = strings.Clone(name[:min(len(name), 8*storage.MaxFolderNameRunes)]) // what is longer stays too long
		id := strings.Clone(strings.TrimSpace(r[colSubject]))
		if other, twice := names[id]; twice && other != name {
			at := rows.place()
			return nil, &RowError{Line: at.line, Item: at.item, Reason: fmt.Sprintf("the folder %s has the names %s and %s", quote(id), quote(other), quote(name))}
		}
		names[id] = name
		if size += len(id) + len(name) + 100; size > maxNamesBytes {
			return nil, errors.New("there are too many names: join the tables, and let the name be the folder")
		}
	}
}

// foldersOf returns the folders of collections, each as old as the first of them. The
// names are those of ids.
func foldersOf(actions []storage.Action, names map[string]string) (out []storage.Folder) {
	at := map[string]int{}
	for i := range actions {
		a := &actions[i]
		name, named := names[a.FolderID]
		if !named {
			continue
		}
		place, known := at[a.FolderID]
		if !known {
			place, at[a.FolderID] = len(out), len(out)
			out = append(out, storage.Folder{Owner: a.User, FolderID: a.FolderID, Name: name, Created: a.Version})
		}
		f := &out[place]
		f.Created = min(f.Created, a.Version)
		f.Updated = f.Created
	}
	return out
}

// makeFolders creates the folders of a group that are missing, after the group before it
// has ended. A user who has storage.MaxFolders folders gets no more: the store puts their
// items into the default folder.
func (w *writer) makeFolders(ctx context.Context, g *group) error {
	for some := range slices.Chunk(g.folders, storage.ArchivePart) {
		keys := make([]storage.FolderKey, len(some))
		for i := range some {
			keys[i] = some[i].Key()
		}
		found, err := w.to.FoldersOf(ctx, keys)
		if err != nil {
			return fmt.Errorf("look up %d folders: %w", len(keys), err)
		}
		var missing []storage.Folder
		for i := range some {
			if found[i] == nil {
				missing = append(missing, some[i])
			}
		}
		if len(missing) == 0 {
			continue
		}
		if err := w.finish(); err != nil {
			return err
		}
		fitting, err := w.fitting(ctx, g, missing)
		if err == nil {
			_, err = w.to.Restore(ctx, &storage.Archive{Folders: fitting}, nil)
		}
		if err != nil {
			return fmt.Errorf("create %d folders: %w", len(missing), err)
		}
	}
	return nil
}

// fitting returns the folders that their users may have, and counts the items of the
// others in the group.
func (w *writer) fitting(ctx context.Context, g *group, missing []storage.Folder) (out []storage.Folder, err error) {
	var queries []storage.FoldersQuery
	room := map[storage.User]int{}
	for i := range missing {
		if _, known := room[missing[i].Owner]; !known {
			room[missing[i].Owner] = storage.MaxFolders - 1 // without the default folder
			queries = append(queries, storage.FoldersQuery{Owner: missing[i].Owner, Page: storage.Page{First: storage.MaxFolders}})
		}
	}
	lists, err := w.to.ListFolders(ctx, queries)
	if err != nil {
		return nil, err
	}
	for i := range lists {
		for j := range lists[i].Entries {
			if !lists[i].Entries[j].Default() {
				room[queries[i].Owner]--
			}
		}
	}
	refused := map[string]bool{}
	for i := range missing {
		if room[missing[i].Owner] <= 0 {
			refused[missing[i].FolderID] = true
			continue
		}
		room[missing[i].Owner]--
		out = append(out, missing[i])
	}
	for i := range g.messages[0].Actions {
		if refused[g.messages[0].Actions[i].FolderID] {
			g.unfiled++
		}
	}
	return out, nil
}
