# shellcheck shell=sh
# shellcheck disable=SC2034  # whoever reads this file uses them
# For install, upgrade and uninstall: where things lie, how a change is made once and told.

OPT=/opt/evalsvc
ETC=/etc/evalsvc
UNITS=/etc/systemd/system
BACKUPS=/var/backups/evalsvc
CA="$ETC/ca.crt"
WORKERS="evalsvc-worker@cpu.service evalsvc-worker@judge.service evalsvc-worker@experiments.service evalsvc-worker@system.service"
ROLES="$WORKERS evalsvc-beat.service evalsvc-otlp-grpc.service"
DRY=''
CHANGES=0
CHANGED_FILES=''

say() { printf '%s\n' "$*"; }

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

# act WHAT COMMAND...: say WHAT, count it, and do it unless this is a dry run.
act() {
	CHANGES=$((CHANGES + 1))
	if [ -n "$DRY" ]; then
		say "would: $1"
		return 0
	fi
	say "$1"
	shift
	"$@"
}

write() {
	umask 077
	printf '%s' "$4" >"$3.new"
	umask 022
	chown "$2" "$3.new"
	chmod "$1" "$3.new"
	mv "$3.new" "$3"
}

# put MODE OWNER:GROUP FILE: make FILE what standard input says, unless it is so already.
put() {
	# The x keeps the last line feeds, which $(...) would take away.
	wanted=$(
		cat
		printf x
	)
	if [ -f "$3" ] && [ "$(
		cat "$3"
		printf x
	)" = "$wanted" ] && [ "$(stat -c '%a %U:%G' "$3")" = "$1 $2" ]; then
		return 0
	fi
	CHANGED_FILES="$CHANGED_FILES $3"
	act "write $3" write "$1" "$2" "$3" "${wanted%x}"
}

make_folder() {
	mkdir -p "$3"
	chown "$2" "$3"
	chmod "$1" "$3"
}

# folder MODE OWNER:GROUP FOLDER
folder() {
	if [ -d "$3" ] && [ "$(stat -c '%a %U:%G' "$3")" = "$1 $2" ]; then
		return 0
	fi
	act "make $3" make_folder "$@"
}

# was_written PART...: is one of these in the path of a file that this run has written?
was_written() {
	for part in "$@"; do
		case "$CHANGED_FILES" in *"$part"*) return 0 ;; esac
	done
	return 1
}

must_be_root() {
	[ "$(id -u)" = 0 ] || fail "Only root can do this: sudo $0"
	[ -d /run/systemd/system ] || fail "systemd does not run here. In a container take deploy/compose or deploy/chart."
}

has_package() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# The present release, by its real path; nothing where there is none.
present() { readlink -f "$OPT/current" 2>/dev/null || true; }

cluster_field() { pg_lsclusters --no-header 2>/dev/null | awk -v n="$1" '$2 == "evalsvc" { print $n; exit }'; }

# A setting of the installation, which the first install wrote down.
noted() { [ ! -f "$ETC/install.conf" ] || sed -n "s/^$1=//p" "$ETC/install.conf"; }

readyz() { curl --silent --cacert "$CA" --max-time 5 https://localhost/readyz; }

is_ready() { readyz | grep -q '"status": *"ready"'; }

# Ready with all its parts, or not within so many seconds.
wait_ready() {
	deadline=$(($(date +%s) + $1))
	until is_ready; do
		[ "$(date +%s)" -lt "$deadline" ] || return 1
		sleep 1
	done
}
