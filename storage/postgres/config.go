package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/storage"
)

// settings holds the settings of every connection, unless the URL overrides them. The
// timeouts limit how long a stuck statement, lock or transaction can block others.
var settings = map[string]string{
	"application_name":                    "ovation",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",

	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"jit":               "off",
}

// configure parses the URL and adds the settings.
func configure(from string) (*pgxpool.Config, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// err may quote a part of the password, so the returned error does not include
		// it.
		return nil, &storage.InvalidError{Field: "URL", Reason: "of Postgres cannot be read: want " +
			"postgres://USER:PASSWORD@HOST:PORT/DATABASE, in the password %XX for each special character"}
	}
	cfg, err := pgxpool.ParseConfig(from)
	if err != nil {
		return nil, &storage.InvalidError{Field: "URL", Reason: "of Postgres cannot be used: " + redact(err.Error(), u)}
	}
	for name, value := range settings {
		if _, given := cfg.ConnConfig.RuntimeParams[name]; !given {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
	if !u.Query().Has("connect_timeout") {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if !u.Query().Has("pool_max_conns") {
		cfg.MaxConns = defaultMaxConns
	}
	return cfg, nil
}

// redact masks the passwords of the URL with asterisks wherever they occur in the text.
func redact(text string, u *url.URL) string {
	password, _ := u.User.Password()
	for _, secret := range []string{password, u.Query().Get("password"), u.Query().Get("sslpassword")} {
		if secret != "" {
			text = strings.NewReplacer(secret, "***", url.QueryEscape(secret), "***", url.PathEscape(secret), "***").Replace(text)
		}
	}
	return text
}

// describe returns a description of the database for error messages. It names the server
// that c is connected to or, if c is nil, all servers in the URL.
func describe(cfg *pgx.ConnConfig, c *pgx.Conn) string {
	var servers []string
	if c != nil {
		servers = []string{remoteAddr(c)}
	} else {
		servers = []string{hostPort(cfg.Host, cfg.Port)}
		for _, other := range cfg.Fallbacks { // a server may be tried with TLS and without
			if at := hostPort(other.Host, other.Port); at != servers[len(servers)-1] {
				servers = append(servers, at)
			}
		}
	}
	return fmt.Sprintf("%q of user %q at %s", cfg.Database, cfg.User, strings.Join(servers, ", "))
}

func hostPort(host string, port uint16) string { return fmt.Sprintf("%s:%d", host, port) }
