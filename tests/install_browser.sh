#!/usr/bin/env bash
# Install what the tests of pages need: playwright, and a Chromium where none is found. With --check, only say.
set -euo pipefail

cd "$(dirname "$0")/.."
find_chromium='
from tests.browser import chromium
from playwright.sync_api import sync_playwright
with sync_playwright() as running:
    print(chromium(running.chromium.executable_path) or "")
'

if [ "${1:-}" != --check ]; then
  python3 -c 'import playwright, pytest' 2>/dev/null || python3 -m pip install --quiet 'playwright>=1.45' pytest
fi
found=$(python3 -c "$find_chromium") || exit 1
if [ -z "$found" ] && [ "${1:-}" != --check ]; then
  python3 -m playwright install --with-deps chromium || python3 -m playwright install chromium ||
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; }
  found=$(python3 -c "$find_chromium")
fi
[ -n "$found" ] || { echo "No Chromium: name one by DPVERIFY_CHROMIUM, or put one on the PATH." >&2; exit 1; }
echo "Chromium: $found"
