"""A store as a folder of pages: every link has a target, every number is the server's, and secret text stays in the store."""

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, expect

from dashboard.app import create_app
from dashboard.models.page import EveryHead
from dashboard.publish import main
from dashboard.published.folder import MARKER, SiteFolder, replace_folder
from dashboard.published.heads import position_charts
from dashboard.published.map import scatter_of_models
from dashboard.published.markup import Places
from dashboard.statistics.scatter import ACROSS, UP, Score
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.special_names import NAMED, Names, in_names
from store import Corpus, open_corpus
from store.snapshot import open_snapshot
from tests.accessibility import is_accessible
from tests.file_server import file_server
from tests.full_disk import full_disk

ROOT = Path(__file__).parents[1]
#: Path of the site below the address of its server.
PREFIX = "team/atlas"
ADDRESSES = re.compile(r'(?:href|src|content)="([^"#]+)')
WORD = re.compile(r"[^\W\d_]{4,}")


def publish(store: str, place: Path, *flags: str) -> Path:
    assert main([store, f"--out={place}", *flags]) == 0
    return place


@pytest.fixture(scope="session")
def site(roles_store: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(roles_store, tmp_path_factory.mktemp("web") / PREFIX, "--sentences=4", "--tokens=120")


@pytest.fixture(scope="session")
def silent(roles_store: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published site of the same store, without its text."""
    return publish(roles_store, tmp_path_factory.mktemp("silent") / "site", "--no-text", "--tokens=120")


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def server(roles_store: str) -> FlaskClient:
    return create_app(ServedStore(roles_store)).server.test_client()


def files(site: Path, *endings: str) -> list[Path]:
    return [path for path in sorted(site.rglob("*")) if path.is_file() and path.suffix in (endings or (path.suffix,))]


def given(page: Path) -> dict[str, object]:
    """The data that the script of a page reads."""
    (text,) = re.findall(r'<script type="application/json" id="published">(.*?)</script>', page.read_text("utf-8"))
    return dict(json.loads(text))


def lines_of(site: Path, layer: int, head: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Received attention and entropy (2, token), weights of lines and tokens at their other ends (token, role, line)."""
    content = (site / f"data/lines/{layer}/{head}.bin").read_bytes()
    assert content[:4] == b"HSL1"
    tokens, lines, width = np.frombuffer(content, "<u4", 3, 4)
    parts = np.split(np.frombuffer(content, np.uint8, offset=16), np.cumsum([8 * tokens, 4 * tokens * lines]))
    numbers, weights, partners = (
        part.view(kind) for part, kind in zip(parts, ("<f4", "<u2", f"<u{width}"), strict=True)
    )
    shape = (tokens, 2, lines)
    return numbers.reshape(2, tokens), weights.reshape(shape) / 65_535, partners.reshape(shape)


# -- pages --------------------------------------------------------------------------------------------


def test_every_head_has_a_page(site: Path, corpus: Corpus) -> None:
    heads = {f"L{layer}H{head}.html" for layer in range(corpus.layers) for head in range(corpus.heads)}
    assert {path.name for path in (site / "head").iterdir()} == heads


def test_every_address_of_every_page_is_a_file_of_the_site(site: Path) -> None:
    pages = files(site, ".html")
    found = {
        (page.name, address): page.parent / unquote(urlsplit(address).path)
        for page in pages
        for address in ADDRESSES.findall(page.read_text("utf-8"))
        if re.search(r"\.(html|js|css|png|woff2)$", address)
    }
    assert len(found) > 5 * len(pages)
    assert [key for key, file in found.items() if not file.is_file()] == []


def test_no_address_leaves_the_site_or_begins_at_the_server(site: Path) -> None:
    addresses = {address for page in files(site, ".html") for address in ADDRESSES.findall(page.read_text("utf-8"))}
    wrong = [address for address in addresses if address.startswith(("/", "http"))]
    assert wrong == []


def test_the_files_of_a_picture_are_there(site: Path) -> None:
    for page in [site / "index.html", *files(site / "head")]:
        shown = given(page)
        base, codes = str(shown["base"]), [colour["codes"] for colour in shown["colours"]]  # type: ignore[attr-defined]
        for address in filter(None, [shown["points"], *codes]):
            name = str(address).removeprefix(f"{base}/").split("?")[0]
            assert (page.parent / str(shown["data"]) / name).is_file(), (page.name, name)


def test_a_page_says_what_its_numbers_are_of(site: Path, corpus: Corpus) -> None:
    for page in files(site, ".html"):
        text = page.read_text("utf-8")
        assert corpus.snapshot in text, page
        assert "Licence of the data" in text, page
        assert 'property="og:title"' in text, page


def test_an_address_of_the_site_gives_previews_a_picture(roles_store: str, tmp_path: Path) -> None:
    made = publish(roles_store, tmp_path / "site", "--url=https://heads.example/a", "--sentences=1", "--tokens=40")
    text = (made / "head/L0H1.html").read_text("utf-8")
    (image,) = re.findall(r'property="og:image" content="([^"]+)"', text)
    assert image.startswith("https://heads.example/a/data/raster/")
    assert (made / image.removeprefix("https://heads.example/a/")).read_bytes()[1:4] == b"PNG"


# -- numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [(0, 0), (1, 1)])
def test_points_and_colours_are_the_bytes_of_the_server(site: Path, server: FlaskClient, head: tuple[int, int]) -> None:
    shown = given(site / f"head/L{head[0]}H{head[1]}.html")
    addresses = [str(shown["points"]), *(str(c["codes"]) for c in shown["colours"][1:])]  # type: ignore[index]
    assert len(addresses) == 9  # the points, and the columns of a treebank, which has no labels
    for address in addresses:
        name = address.removeprefix(f"{shown['base']}/").split("?")[0]
        assert (site / "data" / name).read_bytes() == server.get(address).data, name


def test_small_pictures_of_heads_are_those_of_the_server(site: Path, server: FlaskClient, corpus: Corpus) -> None:
    view, drawn = corpus.views[0], min(2000, corpus.n_tokens)
    pictures = [*(site / "data/raster" / view).glob("*/*-light-132.png")]
    assert len(pictures) == 2
    for picture in pictures:
        layer, head = picture.parent.name, picture.name.split("-")[0]
        asked = f"{data_link(corpus)}/raster/{view}/{layer}/{head}.png?tokens={drawn}&side=132&scheme=light"
        assert picture.read_bytes() == server.get(asked).data


def test_two_addresses_never_have_one_file(corpus: Corpus) -> None:
    places = Places("", "/data", corpus, frozenset())
    assert places.from_page("index.html", "/data/raster/0.png?side=84&tokens=9") == "data/raster/0-84.png"
    assert places.from_page("head/L0H0.html", "/data/raster/0.png?side=480&tokens=9") == "../data/raster/0-480.png"
    with pytest.raises(ValueError, match="would be the answer to"):
        places.from_page("index.html", "/data/raster/0.png?side=84&tokens=5")


@pytest.mark.parametrize(
    ("href", "page"),
    [
        ("/sentence", "sentence/0.html"),
        ("/sentence?model=m&show=matrix", "sentence/0.html"),
        ("/sentence?sentence=3", "sentence/3.html"),
        ("/sentence?sentence=2", None),
        ("/sentence?sentence=no", None),
        ("/sentence?text=A+film", None),
    ],
)
def test_a_link_without_a_sentence_leads_to_sentence_0(href: str, page: str | None, corpus: Corpus) -> None:
    assert Places("", "/data", corpus, frozenset({0, 3})).page(href) == page


def test_lines_of_points_are_those_of_the_server(site: Path, server: FlaskClient, corpus: Corpus) -> None:
    numbers, weights, partners = lines_of(site, 1, 0)
    for token in (0, 7, 40):
        for role, name in enumerate(("query", "key")):
            card = server.get(f"{data_link(corpus)}/token/1/0/{name}/{token}.json").json
            count = len(card["partners"])
            np.testing.assert_allclose(
                weights[token, role, :count], [partner["weight"] for partner in card["partners"]], atol=1e-4
            )
            ties = np.unique(np.round(weights[token, role, :count], 4)).size < count
            assert ties or partners[token, role, :count].tolist() == [each["position"] for each in card["partners"]]
            np.testing.assert_allclose(numbers[:, token], [card["received"], card["entropy"]], atol=1e-3)


def test_statistics_and_roles_are_written_as_on_the_pages_of_the_server(site: Path, server: FlaskClient) -> None:
    page = (site / "head/L1H1.html").read_text("utf-8")
    for tab in ("statistics", "role"):
        answer = server.post("/data/page", data={"pathname": "/head", "search": f"?layer=1&head=1&tab={tab}"})
        numbers = set(re.findall(r'"(\d+\.\d%|\d+ of \d+|[\d.]+ (?:nats|tokens|keys))"', answer.text))
        assert len(numbers) > 5 or tab == "role"
        assert [number for number in numbers if number not in page] == []


def rows_of(server: FlaskClient, address: str) -> list[dict[str, str]]:
    """The rows of a file of the server."""
    return list(csv.DictReader(io.StringIO(server.get(address).text.lstrip("\ufeff"))))


def charts_of(page: Path) -> list[str]:
    """Each chart by position of a page, with its table of numbers."""
    return re.findall(r'<svg class="by-position".*?</table>', page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(("chart", "table", "column"), [(0, "profile", "share"), (1, "received", "received")])
def test_charts_by_position_are_drawn_of_the_numbers_of_the_server(
    site: Path, server: FlaskClient, corpus: Corpus, chart: int, table: str, column: str
) -> None:
    drawn = charts_of(site / "head/L1H0.html")[chart]
    shares, other = (
        [float(row[column]) for row in rows_of(server, f"{data_link(corpus)}/{table}/1/{head}.csv")] for head in (0, 1)
    )
    written = re.findall(r'<tr><td>.+?</td><td class="number">([\d.]+)%', drawn)
    assert written == [f"{100 * share:.1f}" for share in shares]
    means = re.findall(r"<title>.+?: [\d.]+%, mean of its layer ([\d.]+)%</title>", drawn)
    np.testing.assert_allclose([float(mean) for mean in means], 50 * np.add(shares, other), atol=0.051)


def test_a_bar_is_as_high_as_its_share_and_ends_at_the_line_of_it(site: Path) -> None:
    bars, line = charts_of(site / "head/L1H0.html")
    numbers = [float(share) for share in re.findall(r'<tr><td>.+?</td><td class="number">([\d.]+)%', bars)]
    heights = [float(high) for high in re.findall(r'<rect class="own".*? height="([\d.]+)"', bars)]
    ((zero, _), (y, text), *_) = re.findall(r'<text x="34" y="([\d.]+)" text-anchor="end">(\d+)%', bars)
    unit = (float(zero) - float(y)) / float(text)
    np.testing.assert_allclose(heights, unit * np.array(numbers), atol=0.06 * unit + 0.06)
    assert 'class="own" d="M' in line
    assert '<rect class="own"' not in line


def test_the_dictionary_of_a_head_is_that_of_the_server(
    site: Path, silent: Path, server: FlaskClient, corpus: Corpus
) -> None:
    rows = rows_of(server, f"{data_link(corpus)}/dictionary/1/0.csv")
    pairs = [(row["query"], row["key"], int(row["sentences"])) for row in rows if row["kind"] == "word_pair"]
    (part,) = re.findall(
        r'<section class="dictionary">.*?</table>', (site / "head/L1H0.html").read_text("utf-8"), re.DOTALL
    )
    shown = re.findall(r'<bdi>(.+?)</bdi></td><td><bdi>(.+?)</bdi>.*?class="number">(\d+)</td></tr>', part)
    assert [(unescape(query), unescape(key), int(count)) for query, key, count in shown] == pairs
    assert pairs
    assert 'class="dictionary"' not in (silent / "head/L1H0.html").read_text("utf-8")
    assert len(charts_of(silent / "head/L1H0.html")) == 2


def test_many_positions_are_a_line_without_a_table(corpus: Corpus) -> None:
    """Otherwise the page of a corpus with 8,192 tokens a sentence would be too large."""
    _, received = position_charts(corpus, 1, 0, most_said=3)
    assert received.said == ()
    assert received.own.count("L") == int((corpus.received_at["count"].values > 0).sum()) - 1


# -- without text -------------------------------------------------------------------------------------


def test_no_text_of_the_corpus_is_in_any_file_where_it_is_not_published(silent: Path, corpus: Corpus) -> None:
    sources = [*(ROOT / "dashboard").rglob("*"), *(ROOT / "store").rglob("*.py")]
    own = set(
        WORD.findall(
            " ".join(
                path.read_text("utf-8") for path in sources if path.suffix in (".py", ".mjs", ".css", ".html")
            ).lower()
        )
    )
    texts = [str(text) for text in corpus.sentences.text.values]
    rare = set(WORD.findall(" ".join(texts).lower())) - own
    assert "zanyword" in rare
    for file in files(silent):
        content = file.read_bytes().decode("utf-8", "ignore")
        assert [text for text in texts if len(text) > 8 and text in content] == [], file
        assert rare & set(WORD.findall(content.lower())) == set(), file


def test_without_text_a_point_is_called_by_its_position(silent: Path) -> None:
    assert set(json.loads((silent / "data/drawn.json").read_text("utf-8"))["pieces"]) <= {f"#{i}" for i in range(200)}


def test_without_text_no_sentence_has_a_page(silent: Path) -> None:
    assert not (silent / "sentences.html").exists()
    assert not (silent / "sentence").exists()


# -- the folder ---------------------------------------------------------------------------------------


def test_a_folder_with_something_else_stays_as_it_is(
    roles_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert main([roles_store, f"--out={tmp_path}"]) == 1
    error = capsys.readouterr().err
    assert "is not empty and was not made by `headscape publish`" in error
    assert "--out" in error
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_below_a_file_is_one_sentence(
    roles_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([roles_store, f"--out={tmp_path}/file/site"]) == 1
    assert capsys.readouterr().err == (
        f"publish: No folder can be made in {tmp_path}/file (File exists). Choose another place with --out=...\n"
    )


def test_a_site_takes_the_place_of_the_one_before(roles_store: str, tmp_path: Path) -> None:
    place = publish(roles_store, tmp_path / "site", "--sentences=1", "--tokens=40")
    (place / "head/old.html").write_text("old")
    publish(roles_store, place, "--sentences=1", "--tokens=40")
    assert not (place / "head/old.html").exists()
    assert json.loads((place / MARKER).read_text("utf-8"))["made_by"] == "headscape publish"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_store_that_is_not_there_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere"), f"--out={tmp_path / 'site'}"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("publish: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# -- in a browser -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the site on a server of files, below a prefix."""
    with file_server(site.parents[1]) as server:
        yield f"{server}/{PREFIX}/"


def opened(chromium: Browser, address: str, problems: list[str]) -> Page:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("response", lambda answer: problems.append(answer.url) if answer.status >= 400 else None)
    page.goto(address)
    expect(page.locator(".frame[data-drawn^='/data/']:not([aria-busy])")).to_be_visible()
    return page


def test_a_click_on_a_head_opens_its_page_which_is_accessible(chromium: Browser, address: str) -> None:
    problems: list[str] = []
    page = opened(chromium, urljoin(address, "index.html"), problems)
    is_accessible(page)
    page.locator(".frame").click(position={"x": 20, "y": 20})
    page.wait_for_url("**/head/L0H0.html")
    expect(page.locator(".frame[data-drawn^='/data/']:not([aria-busy])")).to_be_visible()
    is_accessible(page)
    assert problems == []
    page.close()


def test_a_head_shows_words_lines_and_colours_and_alone_in_a_frame(chromium: Browser, address: str) -> None:
    problems: list[str] = []
    page = opened(chromium, urljoin(address, "head/L1H0.html"), problems)
    page.locator(".frame").focus()
    page.keyboard.press("p")
    expect(page.locator(".tip")).to_contain_text("attends to")
    page.keyboard.press("Enter")
    expect(page.locator(".frame[data-overlay*='/focus/query/'], .frame[data-overlay*='/focus/key/']")).to_be_visible()
    page.get_by_label("Colour").select_option("norm")
    expect(page.locator(".frame[data-coloured*='/colours/norm/']")).to_be_visible()
    expect(page.locator("[data-legend='norm']")).to_be_visible()
    page.goto(urljoin(address, "head/L1H0.html?embed=1"))
    expect(page.locator(".frame[data-drawn^='/data/']:not([aria-busy])")).to_be_visible()
    for hidden in ("header", "footer", "h1", ".roles-of-head", ".caption >> nth=0"):
        expect(page.locator(hidden).first).to_be_hidden()
    assert problems == []
    page.close()


# -- several models, and errors -----------------------------------------------------------------------


def test_heads_of_several_models_are_on_the_first_page(three_models: str, tmp_path: Path) -> None:
    made = publish(three_models, tmp_path / "site", "--sentences=1", "--tokens=40")
    text = (made / "index.html").read_text("utf-8")
    for name in open_snapshot(three_models).models:
        assert f'href="{name}/index.html"' in text
        assert f'href="{name}/head/L0H0.html"' in text
        assert (made / name / "head/L0H0.html").is_file()


@pytest.mark.parametrize(
    ("names", "axes"),
    [
        (("<s>", "</s>"), ("attention to the last token, %", "attention to the first token, %")),
        (NAMED, ("attention to [SEP], %", "attention to [CLS], %")),
    ],
)
def test_an_axis_of_several_models_has_the_names_of_their_special_tokens_where_these_are_alike(
    names: Names, axes: tuple[str, str]
) -> None:
    scores = {
        number: Score(f"attention to {token}", "share", np.array([0.25, 0.5]))
        for number, token in ((ACROSS[0], "[SEP]"), (UP[0], "[CLS]"))
    }
    first = np.zeros(2, np.int64)
    every = EveryHead({"a": "A", "b": "B"}, 1, np.array(["a", "b"], object), first, first, scores)
    drawn = scatter_of_models(every, {"a": str, "b": lambda text: in_names(text, names)})
    assert drawn.across is not None
    assert drawn.up is not None
    assert (drawn.across.title, drawn.up.title) == axes
    assert drawn.dots[1].title == f"L0 H0 of B: attention to {names[1]} 50.0, attention to {names[0]} 50.0"


def test_a_full_disk_is_one_sentence_and_leaves_the_site_of_before(
    roles_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = publish(roles_store, tmp_path / "site", "--sentences=1", "--tokens=40")
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    capsys.readouterr()
    with full_disk():
        assert main([roles_store, f"--out={place}"]) == 1
    assert capsys.readouterr().err == (
        f"publish: The disk of {place} is full. Free some space and run the same command again.\n"
    )
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_folder_returns_where_the_new_one_cannot_be_moved(tmp_path: Path) -> None:
    place = tmp_path / "site"
    SiteFolder(place).write("index.html", "before")
    with pytest.raises(FileNotFoundError):
        replace_folder(place, new=tmp_path / "missing", old=tmp_path / "old")
    assert (place / "index.html").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
