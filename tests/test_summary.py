"""Summary of a corpus in a notebook: sizes, computed and missing parts, and next calls."""

from types import SimpleNamespace
from typing import Any

import pytest

import headscape
from store import STATISTICS, Corpus
from store.summary import GIVES, STAGES, Row, as_html, as_text, rows_of

SIZES: dict[str, Any] = {"n_sentences": 40, "n_tokens": 452, "counted_sentences": 40, "counted_tokens": 452}


def described(**changes: Any) -> Any:
    known = {
        "name": "m-1",
        "title": "<b>m</b>",
        "snapshot": "S",
        "layers": 2,
        "heads": 1,
        "corpus_attributes": {"name": "a & b"},
        "label_names": ("<i>bad</i>",),
        "views": ["pca-exact-2d", "pca-raw-2d"],
        "token_sets": ["sample"],
    }
    return SimpleNamespace(**(known | SIZES | changes))


def rows(*stages: str, **changes: Any) -> dict[str, Row]:
    return {row.name: row for row in rows_of(described(**changes), stages)}


def test_a_corpus_says_what_it_holds(tiny_corpus: Corpus) -> None:
    text = repr(tiny_corpus)
    assert text.startswith("Corpus: tiny-bert on reviews\n")
    for part in ("2 layers × 2 heads", f"{tiny_corpus.n_tokens:,} tokens", "negative, positive", tiny_corpus.snapshot):
        assert part in text


def test_stages_are_computed_or_missing_with_the_command_that_makes_them() -> None:
    known = rows("relations", "feature points")
    assert known["computed"].texts == ("relations", "feature points")
    assert known["missing"].texts == tuple(stage for stage in STAGES if stage not in ("relations", "feature points"))
    assert known["to compute"].texts == (
        "headscape ingest",
        "headscape ingest --data=<file with coreference>",
        "headscape ingest --importance=100",
    )
    assert known["call next"].texts[-2:] == ("corpus.relations", 'corpus.features("sample")')


def test_where_nothing_is_missing_there_is_no_command() -> None:
    assert not {"missing", "to compute"} & rows(*STAGES).keys()


@pytest.mark.parametrize(
    ("changes", "row", "texts"),
    [
        ({}, "model", ("2 layers × 1 head", "key m-1")),
        (
            {"counted_sentences": 90, "counted_tokens": 999},
            "text",
            ("90 sentences", "999 tokens", "vectors of the first 40 sentences"),
        ),
        ({"views": []}, "pictures", ("none",)),
        ({}, "pictures", ("pca-exact-2d by default", "1 more in corpus.views")),
        ({"label_names": ()}, "labels", ("none",)),
    ],
)
def test_a_line_says(changes: dict[str, Any], row: str, texts: tuple[str, ...]) -> None:
    assert rows(**changes)[row].texts == texts


def test_every_stage_gives_something_that_a_corpus_has() -> None:
    assert GIVES.keys() == STAGES.keys()
    for name in GIVES.values():
        assert hasattr(Corpus, name.partition("(")[0])


def test_html_is_escaped_and_sets_no_colour_of_its_own(tiny_corpus: Corpus) -> None:
    groups: Any = SimpleNamespace(group=lambda _: SimpleNamespace(groups=list))
    page = as_html(described(), groups)
    assert "&lt;b&gt;m&lt;/b&gt; on a &amp; b" in page
    assert "&lt;i&gt;bad&lt;/i&gt;" in page
    assert "<b>" not in page
    assert "#" not in page
    assert tiny_corpus._repr_html_().count("<tr") == len(as_text(tiny_corpus, tiny_corpus._groups).splitlines()) - 1


def test_a_corpus_for_notebooks_names_its_widgets(tiny_store: str, tiny_corpus: Corpus) -> None:
    assert "corpus.show(0, 0), corpus.sentence(0)" in repr(headscape.open(tiny_store))
    assert "corpus.show" not in repr(tiny_corpus)


def test_numbers_have_the_names_of_the_pages_beside_their_own(tiny_corpus: Corpus, bank_corpus: Corpus) -> None:
    assert str(tiny_corpus.head_statistic.sel(statistic="to_sep").title.values) == STATISTICS["to_sep"].title
    features = tiny_corpus.features("sample")
    by_title = features.feature.set_xindex("title").sel(title="L0 head outputs")
    assert str(by_title.point.values) == "L00.mixed"
    titles = bank_corpus.relations.title
    assert str(titles.sel(direction="received").values) == "dependent gets most from governor"
