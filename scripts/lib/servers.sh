# shellcheck shell=bash
# The three servers as installed on this machine. For each, NAME_found prints its program,
# NAME_start starts it, and NAME_answers FOLDER PID reports whether it accepts clients.

: "${clean:?}"

# --- Postgres ----------------------------------------------------------------

postgres_found() {
	local bin found='' path
	path=$(command -v postgres || true)
	for bin in "${path%/*}" /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
		/usr/pgsql-*/bin /usr/lib/postgresql/*/bin; do
		[ ! -x "$bin/initdb" ] || [ ! -x "$bin/postgres" ] || found=$bin
	done
	[ -n "$found" ] && echo "$found"
}

postgres_start() {
	local at bin port password
	at=$(folder postgres)
	bin=$(postgres_found)
	port=$(keep "$at/port" port)
	password=$(keep "$at/password" random)
	own "$at/port" "$at/password"
	[ -d "$at/data" ] || postgres_init "$at" "$bin" >>"$at/log" 2>&1 || return 1
	# Postgres refuses to start while a killed server is a zombie. So replace the pid in
	# its pid file by an impossible one and keep the rest, which Postgres also checks.
	if [ -f "$at/data/postmaster.pid" ]; then
		{ echo 99999999 && sed 1d "$at/data/postmaster.pid"; } >"$at/data/postmaster.new"
		own "$at/data/postmaster.new"
		mv "$at/data/postmaster.new" "$at/data/postmaster.pid"
	fi
	echo "postgres://ovation:$password@127.0.0.1:$port/ovation?sslmode=disable" >"$at/url"
	launch "$at" "$bin/postgres" -D "$at/data" -p "$port"
}

# postgres_init FOLDER BIN: create the database, under another name until it is complete.
postgres_init() {
	rm -rf "$1/data.new"
	"${clean[@]}" "$2/initdb" -D "$1/data.new" -U ovation -A scram-sha-256 --pwfile="$1/password" \
		-E UTF8 --locale=C --no-sync || return 1
	echo 'create database ovation' | "${clean[@]}" "$2/postgres" --single -D "$1/data.new" postgres || return 1
	# Shared memory in files leaves nothing in /dev/shm when the server is killed.
	cat >>"$1/data.new/postgresql.conf" <<-END
		listen_addresses = '127.0.0.1'
		unix_socket_directories = ''
		max_connections = 200
		dynamic_shared_memory_type = mmap
	END
	mv "$1/data.new" "$1/data"
}

# Line 8 of Postgres's own pid file says whether it has recovered and accepts clients.
postgres_answers() {
	local lines
	listens 127.0.0.1 "$(<"$1/port")" || return 1
	lines=$(cat "$1/data/postmaster.pid" 2>/dev/null) || return 1
	[ "$(sed -n 1p <<<"$lines")" = "$2" ] && [[ $(sed -n 8p <<<"$lines") == ready* ]]
}

# --- Redis -------------------------------------------------------------------

redis_found() { command -v redis-server; }

redis_start() {
	local at port password
	at=$(folder redis)
	port=$(keep "$at/port" port)
	password=$(keep "$at/password" random)
	cat >"$at/redis.conf" <<-END
		bind 127.0.0.1
		port $port
		requirepass $password
		save ""
		maxmemory 512mb
		maxmemory-policy volatile-ttl
	END
	own "$at/redis.conf"
	echo "redis://default:$password@127.0.0.1:$port" >"$at/url"
	launch "$at" "$(redis_found)" "$at/redis.conf"
}

redis_answers() {
	local answer
	exec 3<>"/dev/tcp/127.0.0.1/$(<"$1/port")" || return 1
	printf 'AUTH %s\r\nPING\r\n' "$(<"$1/password")" >&3
	read -r -t 5 answer <&3 && read -r -t 5 answer <&3
	exec 3<&-
	[[ ${answer:-} == +PONG* ]]
} 2>/dev/null

# --- RabbitMQ ----------------------------------------------------------------

# Debian's /usr/sbin/rabbitmq-server runs only as the user rabbitmq, so the script that it
# calls is preferred.
rabbitmq_found() {
	local bin
	command -v epmd >/dev/null || return 1
	for bin in /usr/lib/rabbitmq/bin /opt/homebrew/opt/rabbitmq/sbin /usr/local/opt/rabbitmq/sbin \
		"$(dirname "$(command -v rabbitmq-server || echo /-/)")"; do
		[ -x "$bin/rabbitmq-server" ] && echo "$bin/rabbitmq-server" && return
	done
	return 1
}

# The node has a separate cookie (in HOME), ports and name service (epmd). It starts epmd
# itself, and restarts it if it dies.
rabbitmq_start() {
	local at port password epmd
	at=$(folder rabbitmq)
	port=$(keep "$at/port" port)
	password=$(keep "$at/password" random)
	epmd=$(keep "$at/epmd-port" port)
	cat >"$at/rabbitmq.conf" <<-END
		listeners.tcp.1 = 127.0.0.1:$port
		default_user = ovation
		default_pass = $password
		vm_memory_high_watermark.absolute = 1GB
		disk_free_limit.absolute = 64MB
		raft.wal_max_size_bytes = 67108864
	END
	echo '[].' >"$at/plugins"
	own "$at/rabbitmq.conf" "$at/plugins"
	echo "amqp://ovation:$password@127.0.0.1:$port/" >"$at/url"
	launch "$at" ERL_EPMD_PORT="$epmd" ERL_EPMD_ADDRESS=127.0.0.1 \
		RABBITMQ_NODENAME=ovation@localhost RABBITMQ_DIST_PORT="$(port)" \
		RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE="$at/rabbitmq.conf" \
		RABBITMQ_ADVANCED_CONFIG_FILE="$at/none.config" RABBITMQ_ENABLED_PLUGINS_FILE="$at/plugins" \
		RABBITMQ_MNESIA_BASE="$at/data" RABBITMQ_GENERATED_CONFIG_DIR="$at/generated" \
		RABBITMQ_LOG_BASE="$at" RABBITMQ_LOGS=- RUNNING_UNDER_SYSTEMD=true \
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' \
		"$(rabbitmq_found)"
}

# rabbitmq_gone FOLDER: stop the name service of a node that has stopped. A name service refuses
# to stop while it has a node: another one at this port, or this one until it notices that its
# node has stopped.
rabbitmq_gone() {
	local port i
	[ -f "$1/epmd-port" ] || return 0
	port=$(<"$1/epmd-port")
	for ((i = 0; i < 40; i++)); do
		listens 127.0.0.1 "$port" || return 0
		epmd -port "$port" -kill >/dev/null 2>&1 || true
		sleep 0.05
	done
}

# RabbitMQ answers the protocol header with a frame, whose first byte is 1.
rabbitmq_answers() {
	local answer
	exec 3<>"/dev/tcp/127.0.0.1/$(<"$1/port")" || return 1
	printf 'AMQP\0\0\11\1' >&3
	IFS= read -r -t 5 -n 1 answer <&3
	exec 3<&-
	[ "${answer:-}" = $'\1' ]
} 2>/dev/null
