# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # variables come from, and go to, lib.sh and whoever reads this file
# The steps of install alone: packages, users, secrets, the cluster of PostgreSQL.

UNITS_OF_TARGET="evalsvc-redis.service evalsvc-web.socket evalsvc-web.service $ROLES evalsvc-caddy.socket evalsvc-caddy.service"
PREVENT=/etc/postgresql-common/createcluster.d/evalsvc.conf

check_debian() {
	# shellcheck source=/dev/null
	. /etc/os-release
	case "$ID $VERSION_ID" in
	"debian 12") BROKER=redis-server ;;
	"debian 13") BROKER=valkey-server ;;
	*) fail "This is ${PRETTY_NAME:-unknown}; evalsvc is installed this way on Debian 12 and 13 only." ;;
	esac
}

apt_install() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o DPkg::Lock::Timeout=600 update
	apt-get -qq -o DPkg::Lock::Timeout=600 install --yes --no-install-recommends "$@" >/dev/null
}

# Their own cluster and their own broker are not wanted where nobody had them before.
ensure_packages() {
	missing=''
	for package in ca-certificates curl python3 python3-venv postgresql "$BROKER"; do
		has_package "$package" || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	case "$missing" in *postgresql*)
		folder 755 root:root "${PREVENT%/*}"
		put 644 root:root "$PREVENT" <<-END
			# evalsvc has a cluster of its own.
			create_main_cluster = false
		END
		;;
	esac
	# shellcheck disable=SC2086  # a list
	act "install the packages$missing" apt_install $missing
	case "$missing" in *"$BROKER"*)
		act "disable the package's own $BROKER, as evalsvc has one of its own" systemctl disable --quiet --now "$BROKER.service"
		;;
	esac
}

# ensure_user NAME GROUP
ensure_user() {
	getent group "$2" >/dev/null || act "make group $2" groupadd --system "$2"
	getent passwd "$1" >/dev/null || act "make user $1" \
		useradd --system --gid "$2" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}

# evalsvc: the services. evalsvc-owner: migrations and backups. evalsvc-caddy: sees no secret.
ensure_users() {
	ensure_user evalsvc evalsvc
	ensure_user evalsvc-redis evalsvc
	ensure_user evalsvc-caddy evalsvc-caddy
	ensure_user evalsvc-owner evalsvc-owner
}

ensure_folders() {
	folder 755 root:root "$OPT"
	folder 755 root:root "$ETC"
	folder 750 root:evalsvc "$ETC/secrets"
	folder 700 evalsvc-owner:evalsvc-owner "$BACKUPS"
}

# Drawn once: without the same ones no API key opens anything, and what is encrypted stays so.
ensure_secrets() {
	for name in SECRET_KEY KEY_PEPPER METRICS_KEY; do
		draw "$name" "import secrets; print(secrets.token_urlsafe(48))"
	done
	draw ENCRYPTION_KEYS "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())"
}

# draw NAME PROGRAM: a new secret, or the one that is there with the rights that it should have.
draw() {
	if [ -s "$ETC/secrets/$1" ]; then
		# shellcheck disable=SC2094  # it reads all before it writes
		put 640 root:evalsvc "$ETC/secrets/$1" <"$ETC/secrets/$1"
		return 0
	fi
	if [ -n "$DRY" ]; then
		act "draw $ETC/secrets/$1"
		return 0
	fi
	put 640 root:evalsvc "$ETC/secrets/$1" <<-END
		$(/usr/bin/python3 -c "$2")
	END
}

ensure_cluster() {
	if [ -z "$(cluster_field 1)" ]; then
		act "make the cluster evalsvc of PostgreSQL" make_cluster
	fi
	if [ -n "$DRY" ] && [ -z "$(cluster_field 1)" ]; then
		return 0
	fi
	postgres="postgresql@$(cluster_field 1)-evalsvc.service"
	etc="/etc/postgresql/$(cluster_field 1)/evalsvc"
	put 644 postgres:postgres "$etc/start.conf" <<-END
		auto
	END
	put 644 postgres:postgres "$etc/conf.d/evalsvc.conf" <"$HERE/files/postgresql.conf"
	put 640 postgres:postgres "$etc/pg_hba.conf" <"$HERE/files/pg_hba.conf"
	put 640 postgres:postgres "$etc/pg_ident.conf" <"$HERE/files/pg_ident.conf"
	folder 755 root:root "$UNITS/$postgres.d"
	put 644 root:root "$UNITS/$postgres.d/evalsvc.conf" <"$HERE/files/postgresql-restart.conf"
	if was_written "$etc/start.conf" "$etc/conf.d/" "$postgres"; then
		act "start PostgreSQL with its new files" start_cluster "$postgres"
	elif was_written "$etc/pg_" && systemctl is-active --quiet "$postgres"; then
		act "tell PostgreSQL who may sign in" systemctl reload "$postgres"
	elif ! systemctl is-active --quiet "$postgres"; then
		act "start PostgreSQL" systemctl start "$postgres"
	fi
}

make_cluster() {
	version=$(find /usr/lib/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1)
	pg_createcluster "$version" evalsvc --locale C.UTF-8 --encoding UTF8 >/dev/null
}

start_cluster() {
	systemctl daemon-reload
	systemctl restart "$1"
}

# Roles, database, rights and tables.
ensure_database() {
	if [ -n "$DRY" ]; then
		[ -n "$(cluster_field 1)" ] || act "make the database and its roles, and migrate"
		return 0
	fi
	if manage migrate --database owner --check >/dev/null 2>&1; then
		return 0
	fi
	act "make the database and its roles, and migrate" manage bootstrap
}
