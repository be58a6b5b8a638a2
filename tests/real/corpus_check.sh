#!/bin/sh
# corpus_check.sh CCL_ANALYZE DEFAULT_CORPUS WORK: finds the corpus and a Python that imports h5py; 77 = skipped.
corpus=${CCL_CORPUS:-$2}
[ -d "$corpus/expected" ] || { echo "skipped: no real traces (set CCL_CORPUS)"; exit 77; }
for python in /usr/bin/python3 python3; do
  "$python" -c 'import h5py' 2>/dev/null && exec "$python" "$(dirname "$0")/${CHECK:-corpus_check.py}" "$1" "$corpus" "$3"
done
echo "skipped: no Python with h5py (Debian: python3-h5py)"
exit 77
