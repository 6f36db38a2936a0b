"""The site's search answers from disk: a small site with the plug-ins and the script of the whole."""

import shutil
from pathlib import Path

import pytest

from tests.browser import barriers, opened, started

ROOT = Path(__file__).parents[1]
SETTINGS = """site_name: few pages
use_directory_urls: false
theme: {name: material, font: false, palette: {scheme: default, primary: teal, accent: teal}}
plugins: [search, offline]
extra_css: [site.css]
extra: {generator: false, polyfills: [iframe-worker.js]}
"""


def test_the_settings_are_those_of_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for said in ("use_directory_urls: false", "  - search\n  - offline", "polyfills: [iframe-worker.js]"):
        assert said in text


@pytest.mark.long
def test_heavy_hitters_are_found_without_a_server(tmp_path: Path) -> None:
    config, build = pytest.importorskip("mkdocs.config"), pytest.importorskip("mkdocs.commands.build")
    pytest.importorskip("material")
    (tmp_path / "docs/deeper").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text(SETTINGS)
    (tmp_path / "docs/index.md").write_text("# Home\n")
    (tmp_path / "docs/deeper/one.md").write_text("# Below\n")
    for name in ("heavy_hitters.md", "pitfalls.md", "iframe-worker.js", "site.css"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    build.build(config.load_config(str(tmp_path / "mkdocs.yml"), site_dir=str(tmp_path / "site")))
    with started() as browser:
        for page in ("index.html", "deeper/one.html"):
            with opened(browser, tmp_path / "site" / page) as shown:
                shown.page.click(".md-search__input")
                shown.page.keyboard.type("heavy hitters")
                found = shown.page.wait_for_selector(".md-search-result__link")
                assert (found.get_attribute("href") or "").endswith("/heavy_hitters.html")
                assert not shown.complaints
                assert not shown.outside()
        with opened(browser, tmp_path / "site" / "index.html") as shown:
            shown.page.click(".md-search__input")
            shown.page.keyboard.type("heavy hitters")
            shown.page.wait_for_selector(".md-search-result__link")
            pale = [each for each in barriers(shown.page) if each.startswith("color-contrast")]  # without axe it skips
            assert pale == []
