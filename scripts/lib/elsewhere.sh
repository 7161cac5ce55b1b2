# shellcheck shell=bash
# Servers that are not installed on this machine: from apt, docker compose or the environment.

: "${self:?}" "${dir:?}"

# install NAME...: install servers with apt. Debian starts them unless policy-rc.d forbids
# it; a temporary policy-rc.d is created and removed afterwards, at the latest by the next
# call.
install() {
	local policy=/usr/sbin/policy-rc.d packages=() name status=0
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	for name in "$@"; do
		case $name in postgres) packages+=(postgresql) ;; *) packages+=("$name-server") ;; esac
	done
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\n# created by scripts/services, can be removed\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	elif "$policy" redis-server start >/dev/null 2>&1 || [ $? != 101 ]; then
		say "$policy lets apt start services: install ${packages[*]} by hand"
		return 1
	fi
	say "installing ${packages[*]} with apt"
	apt_get "${packages[@]}" || { apt-get -qq update && apt_get "${packages[@]}"; } >>"$dir/apt.log" 2>&1 ||
		{ status=1 && tail -n 20 "$dir/apt.log" >&2; }
	! grep -q 'put here by scripts/services' "$policy" || rm "$policy"
	return $status
}

apt_get() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$dir/apt.log" 2>&1
}

compose() {
	OVATION_SERVICES_PASSWORD=$(umask 077 && keep "$dir/data/password" random) \
		docker compose -p "ovation-services-$(printf %s "$dir" | cksum | cut -d ' ' -f 1)" -f "$self/services.yml" "$@"
}

# contain NAME...: run servers in containers, on ports of 127.0.0.1.
contain() {
	local name password
	docker compose version >/dev/null 2>&1 && docker info >/dev/null 2>&1 || return 1
	say "starting $* with docker compose"
	: >"$dir/contained"
	compose up -d --wait "$@" >&2 || return 1
	password=$(<"$dir/data/password")
	for name in "$@"; do
		case $name in
		postgres) echo "postgres://ovation:$password@$(compose port postgres 5432)/ovation?sslmode=disable" ;;
		redis) echo "redis://default:$password@$(compose port redis 6379)" ;;
		rabbitmq) echo "amqp://ovation:$password@$(compose port rabbitmq 5672)/" ;;
		esac >"$dir/data/$name/url"
		: >"$dir/data/$name/contained"
	done
}

variable() { printf 'OVATION_%s_URL' "$(tr '[:lower:]' '[:upper:]' <<<"$1")"; }

# given NAME: succeed if the environment names another server. A URL that was printed by env
# does not count.
given() {
	local variable
	variable=$(variable "$1")
	[ -n "${!variable:-}" ] && [ "${!variable}" != "$(cat "$dir/data/$1/url" 2>/dev/null)" ]
}

url() {
	local variable
	variable=$(variable "$1")
	if given "$1"; then echo "${!variable}"; else cat "$dir/data/$1/url"; fi
}

# address URL: print its first host and port.
address() {
	local at=${1#*://} port
	at=${at%%[/?]*}
	at=${at##*@}
	at=${at%%,*}
	case $1 in postgres*) port=5432 ;; redis*) port=6379 ;; amqps*) port=5671 ;; *) port=5672 ;; esac
	case $at in *:*[!0-9]* | *[!:]) [[ $at =~ :[0-9]+$ ]] || at=$at:$port ;; esac
	at=${at//[\[\]]/}
	echo "${at%:*} ${at##*:}"
}

# ready NAME: succeed if the server answers.
ready() {
	local at pid host port
	if given "$1" || [ -e "$dir/data/$1/contained" ]; then
		read -r host port < <(address "$(url "$1")")
		# A URL without a host means a Unix socket, which only the client can check.
		[ -z "$host" ] || within 5 bash -c "exec 3<>'/dev/tcp/$host/$port'" 2>/dev/null
	else
		[ -d "$dir/data/$1" ] && at=$(folder "$1") && alive "$at/pid" && "$1_answers" "$at" "$pid"
	fi
}

within() { if command -v timeout >/dev/null; then timeout "$@"; else "${@:2}"; fi; }
