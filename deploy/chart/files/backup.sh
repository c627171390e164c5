# Back up into a folder of its own, then keep the newest $KEEP. Names sort by time.
set -eu
umask 077
python manage.py backup "$FOLDER/$(date -u +%Y-%m-%dT%H%M%SZ)"
for folder in "$FOLDER"/*Z; do
    # One without a manifest was not finished.
    [ -e "$folder/manifest.json" ] || rm -rf "$folder"
done
for folder in $(printf '%s\n' "$FOLDER"/*Z | sort | head -n "-$KEEP"); do
    rm -rf "$folder"
done
