# shellcheck shell=bash
# Folders, ports and owners of files. Reads $dir and $names of scripts/services.

: "${dir:?}" "${names:?}" "${clean:?}"

# prepare: create the folders. If the user nobody cannot enter the checkout (as below
# /root), the servers' data is under TMPDIR, and the checkout has a link to it.
prepare() {
	local name
	[ -e "$dir/.ours" ] || [ -z "$(ls -A "$dir" 2>/dev/null)" ] || { say "$dir was not created by scripts/services: empty it or set OVATION_SERVICES_DIR" && return 1; }
	mkdir -p "$dir/users"
	: >"$dir/.ours"
	if [ ! -d "$dir/data" ]; then
		rm -f "$dir/data"
		if "${clean[@]}" test -x "$dir"; then
			mkdir "$dir/data"
		else
			ln -s "$(mktemp -d "${TMPDIR:-/tmp}/ovation-services.XXXXXX")" "$dir/data"
		fi
	fi
	mkdir -p "$dir/data/ports"
	chmod 711 "$dir/data/"
	for name in $names; do
		[ -d "$dir/data/$name" ] && continue
		mkdir "$dir/data/$name"
		chmod 700 "$dir/data/$name"
		[ "$(id -u)" != 0 ] || chown "nobody:$(id -g nobody)" "$dir/data/$name"
	done
}

folder() { (cd "$dir/data/$1" && pwd -P); }
random() { LC_ALL=C od -An -N12 -tx1 /dev/urandom | tr -d ' \n'; }

# listens HOST PORT: succeed if something accepts connections there.
listens() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# keep FILE COMMAND...: print the content of FILE; if there is none, write the output of
# COMMAND to it first.
keep() {
	local file=$1
	shift
	[ -s "$file" ] || "$@" >"$file"
	cat "$file"
}

# port: print a port that nothing listens on, below those that the system assigns, and
# that was not reserved for another of these servers, which may not listen yet.
port() {
	local port i
	for ((i = 0; i < 100; i++)); do
		port=$((20000 + RANDOM % 12000))
		if ! listens 127.0.0.1 "$port" && mkdir "$dir/data/ports/$port" 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	say "cannot reserve a port: check that $dir/data is writable and the disk is not full"
	return 1
}

# own FILE...: give files that root created to the user nobody, as which the servers run.
own() {
	[ "$(id -u)" != 0 ] || chown "nobody:$(id -g nobody)" "$@"
	chmod go= "$@"
}
