package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ovation/api/viewer"
	"ovation/storage"
	"ovation/storage/sqlite"
)

// The files of a data folder.
const (
	databaseFile = "ovation.db"
	secretFile   = "jwt-secret"
	serveLock    = "dev.lock"
	importLock   = "import.lock"
)

const chooseFolder = "choose another folder by --data or OVATION_DATA"

// dataFlag holds the path of the data folder.
type dataFlag struct {
	Data string `default:".ovation" help:"Folder of the database file and related files." type:"folder" env:"OVATION_DATA"`
}

// file returns the path of a file in the folder.
func (d dataFlag) file(name string) string { return filepath.Join(d.Data, name) }

// make creates the folder if it is missing.
func (d dataFlag) make() error {
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder %s cannot be made: %w; %s", d.Data, err, chooseFolder)
	}
	return nil
}

// lock acquires the lock with the given file name in the folder. If another process holds
// the lock, lock returns an error without waiting. The parameter use is a verb, such as
// "serves"; the error uses it to say what that process does. The operating system
// releases the lock when this process ends, even if it crashes.
func (d dataFlag) lock(name, use string) (unlock func() error, err error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(d.file(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be written: %w; make it writable or %s", d.Data, err, chooseFolder)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another process already %s the data folder %s; stop it or %s", use, d.Data, chooseFolder), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data folder %s: %w", d.Data, err), file.Close())
	}
	return file.Close, nil
}

// locked reports whether a process holds the lock with the given file name.
func (d dataFlag) locked(name string) bool {
	file, err := os.Open(d.file(name))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // also releases the lock if it was free
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// path returns the absolute path of the folder, or the path as it was given if the
// working directory is unknown.
func (d dataFlag) path() string {
	path, err := filepath.Abs(d.Data)
	if err != nil {
		return d.Data
	}
	return path
}

// open opens the database. A missing database is created if create is true; otherwise it
// is an error.
func (d dataFlag) open(ctx context.Context, create bool, events storage.EventOptions) (storage.Store, error) {
	store, err := d.openSQLite(ctx, create, events)
	if err != nil {
		return nil, err
	}
	return store, nil
}

func (d dataFlag) openSQLite(ctx context.Context, create bool, events storage.EventOptions) (*sqlite.Store, error) {
	path := d.file(databaseFile)
	if !create {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no database in the data folder %s; %s, or make one: ovation dev, ovation import", d.Data, chooseFolder)
		}
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: path, Events: events})
	switch {
	case err == nil:
		return store, nil
	case ctx.Err() != nil: // regardless of what err is
		return nil, fmt.Errorf("open the database: %w", ctx.Err())
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("%w; make it writable or %s", err, chooseFolder)
	case errors.Is(err, storage.ErrNewerSchema), errors.Is(err, storage.ErrUnavailable):
		return nil, err
	}
	return nil, fmt.Errorf("%w; if the file is not Ovation's, move it away or %s", err, chooseFolder)
}

// readSecret returns the secret kept in the folder. If there is none, the error wraps
// fs.ErrNotExist.
func (d dataFlag) readSecret() ([]byte, error) {
	path := d.file(secretFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the secret for tokens: %w", err)
	}
	secret := []byte(strings.TrimSpace(string(text)))
	if len(secret) < viewer.MinSecretBytes {
		return nil, fmt.Errorf("the secret for tokens in %s is %d bytes long, at least %d are needed; remove the file, and the next start makes a new one",
			path, len(secret), viewer.MinSecretBytes)
	}
	return secret, nil
}

// keepSecret returns the secret kept in the folder, and creates it first if there is
// none.
func (d dataFlag) keepSecret() ([]byte, error) {
	secret, err := d.readSecret()
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	random := make([]byte, viewer.MinSecretBytes)
	_, _ = rand.Read(random) // rand.Read never fails
	secret = []byte(base64.RawURLEncoding.EncodeToString(random))
	// The file is renamed into place, so that no process reads a partial file.
	part := d.file(secretFile + ".new")
	if err := writeNew(part, append(secret, '\n')); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("store the secret for tokens: %s exists already; if no other process is starting on this data folder, it is a leftover or was planted: remove it", part)
	} else if err != nil {
		return nil, fmt.Errorf("store the secret for tokens: %w", err)
	}
	if err := os.Rename(part, d.file(secretFile)); err != nil {
		return nil, fmt.Errorf("store the secret for tokens: %w", err)
	}
	return secret, nil
}

// writeNew writes text to a new file that only its owner may read. If path exists, even
// as a link, writeNew returns an error that wraps fs.ErrExist, because the owner of an
// existing file could read the text.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
