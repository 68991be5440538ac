"""The picture of a sentence's dependency tree, and the words that a head links in it."""

import xml.etree.ElementTree as ElementTree

import pytest
from flask.testing import FlaskClient

import store
from dashboard.sentence.tree import LINKED, Arc, Tree, _levels, dependency_tree, read_tree, tree_arcs, tree_svg
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from tests.components import components

SVG = "{http://www.w3.org/2000/svg}"


def test_every_dependency_but_the_root_is_an_arc(bank_corpus: store.Corpus) -> None:
    rows = bank_corpus.words.rows(0)
    assert len(tree_arcs(bank_corpus, 0, 0, 0)) == rows.stop - rows.start - 1


def test_an_arc_is_linked_where_one_word_attends_most_to_the_other(bank_corpus: store.Corpus) -> None:
    pattern = bank_corpus.word_pattern(0, layer=1, head=0).values.copy()
    for word in range(len(pattern)):
        pattern[word, word] = -1
    most = pattern.argmax(axis=-1)
    for arc in tree_arcs(bank_corpus, 0, 1, 0):
        assert arc.linked == (most[arc.dependent] == arc.governor or most[arc.governor] == arc.dependent)


def test_where_links_are_not_computed_none_is_counted() -> None:
    tree = Tree("silver", "a parser", "L0 H0", ["a", "b"], [Arc(0, 1, "det", None)], "tree.svg")
    text = "".join(str(each) for each in components(dependency_tree(tree)) if isinstance(each, str))
    assert "A parser. Which words heads link is not computed yet. " in text


def test_an_arc_is_above_those_that_it_spans() -> None:
    outer, inner, apart = Arc(0, 3, "a", False), Arc(2, 1, "b", False), Arc(4, 5, "c", False)
    assert _levels([outer, inner, apart]) == {inner: 0, apart: 0, outer: 1}


def test_words_with_marks_of_xml_are_spelled() -> None:
    drawn = ElementTree.fromstring(tree_svg(["<b>", "&", '"', "\x0b"], [Arc(0, 1, "a<b\x01", True)]))
    assert [text.text for text in drawn.iter(f"{SVG}text")] == ["a<b\ufffd", "<b>", "&", '"', "\ufffd"]
    assert LINKED in {path.get("stroke") for path in drawn.iter(f"{SVG}path")}


def test_the_picture_of_a_tree_is_served(bank_client: FlaskClient, bank_corpus: store.Corpus) -> None:
    answer = bank_client.get(f"{data_link(bank_corpus)}/tree/0/0/0.svg")
    assert answer.mimetype == "image/svg+xml"
    assert len(list(ElementTree.fromstring(answer.text).iter(f"{SVG}path"))) == 2 * len(tree_arcs(bank_corpus, 0, 0, 0))


def test_a_tree_is_of_the_head_whose_lines_are_drawn_alone(bank_corpus: store.Corpus) -> None:
    tree = read_tree(bank_corpus, LinkState(page="sentence", layer=1, head=0, heads="1", sentence=2))
    assert tree is not None
    assert (tree.head, tree.arcs) == ("L1 H1", tree_arcs(bank_corpus, 2, 1, 1))
    assert tree.svg.endswith("tree/2/1/1.svg")


@pytest.mark.parametrize("place", ["9999/0/0", "0/99/0", "0/0/99"])
def test_there_is_no_tree_of_what_the_store_has_not(
    place: str, bank_client: FlaskClient, bank_corpus: store.Corpus
) -> None:
    assert bank_client.get(f"{data_link(bank_corpus)}/tree/{place}.svg").status_code == 404


def test_a_corpus_without_words_has_no_trees(client: FlaskClient, tiny_corpus: store.Corpus) -> None:
    assert client.get(f"{data_link(tiny_corpus)}/tree/0/0/0.svg").status_code == 404
    page = client.post("/data/page", data={"pathname": "/sentence", "search": "", "snapshot": ""})
    assert "Dependency tree" not in str(page.json)
