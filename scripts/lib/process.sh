# shellcheck shell=bash
# Starts, finds and stops processes that outlive the script. Also contains the lock.

# Root runs the servers as the user nobody: Postgres and RabbitMQ refuse to run as root,
# and that user owns no files that a mistake could damage.
drop=()
if [ "$(id -u)" = 0 ]; then
	command -v setpriv >/dev/null || die 'as root, setpriv (util-linux) is needed'
	drop=(setpriv --reuid=nobody "--regid=$(id -g nobody)" --clear-groups)
fi
# A server does not inherit the caller's environment (PG*, RABBITMQ_*).
clean=(${drop[@]+"${drop[@]}"} env -i "PATH=$PATH" LANG=C.UTF-8)

# birth PID: print when the process started, in a unit of the system; fail if there is no such
# process or it is a zombie.
birth() {
	if [ -r /proc/self/stat ]; then
		local stat
		{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
		# shellcheck disable=SC2086 # the words after the name in parentheses
		set -- ${stat##*) }
		[ "$1" != Z ] && echo "${20}"
	else
		# shellcheck disable=SC2046 # only the words, without the space around them
		set -- $(LC_ALL=C ps -o state= -o lstart= -p "$1")
		[[ ${1:-Z} != Z* ]] && echo "${@:2}"
	fi
}

# alive FILE: succeed if the process of this pid file runs. Sets pid.
alive() {
	local began
	pid=
	[ -f "$1" ] && read -r pid began <"$1" && [ "$(birth "$pid")" = "$began" ]
}

# note FILE: write the pid file of the calling shell.
note() {
	local me
	me=$(exec sh -c 'echo $PPID')
	printf '%s %s\n' "$me" "$(birth "$me")" >"$1.new" && mv "$1.new" "$1"
}

# launch FOLDER COMMAND...: start a server in the background, with its output in
# FOLDER/log. The new process writes its pid file before it executes the server, so that
# no server is without one. It has its own process group, which Ctrl-C does not reach.
launch() {
	local folder=$1
	shift
	rm -f "$folder/pid"
	set -m
	(
		exec 9<&-
		note "$folder/pid"
		cd "$folder" || exit
		exec "${clean[@]}" HOME="$folder" "$@"
	) </dev/null >>"$folder/log" 2>&1 &
	set +m
	while [ ! -f "$folder/pid" ] && kill -0 $! 2>/dev/null; do sleep 0.01; done
}

# stop FOLDER SIGNAL: send the process the signal, and kill it if it does not end.
stop() {
	local i pid
	alive "$1/pid" || return 0
	kill -s "$2" "$pid" 2>/dev/null || true
	for ((i = 0; i < 100; i++)); do
		alive "$1/pid" || return 0
		sleep 0.05
	done
	kill -s KILL "$pid" 2>/dev/null || true
	while alive "$1/pid"; do sleep 0.05; done
}

# lock: allow only one up or down at a time. The script itself is the locked file, so there is
# nothing to clean up, and the lock is released when its holder ends, however that happens.
lock() {
	exec 9<"${BASH_SOURCE[0]}"
	if command -v flock >/dev/null; then
		flock -n 9 || { say 'waiting for another up or down' && flock 9; }
	else
		perl -MFcntl=:flock -e 'open(my $f, "<&=", 9) or die $!; flock($f, LOCK_EX) or die $!'
	fi
}
unlock() { exec 9<&-; }
