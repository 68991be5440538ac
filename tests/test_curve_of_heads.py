"""The curve over the number of replaced heads: its points against single measurements, and the part of page Sentence."""

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

import headscape
from dashboard.app import create_app
from dashboard.sentence.curve import SHARES, Curve, CurvePoint, curve_dataset, curve_table, known_orders, measure_curves
from dashboard.sentence.over_corpus import curve_figure, curve_panel
from dashboard.sentence.replace import main, replace_heads, replace_more
from dashboard.ui.files import Provenance
from dashboard.web.errors import ReaderLeft
from dashboard.web.state import LinkState
from store import Corpus, open_corpus, open_snapshot
from store.phrases import PROVENANCE
from store.replacement import ordered_heads
from tests.client import content, csv_rows, shown

SENTENCES = 3
POINT = CurvePoint(1, 0.1, 0.05, 0.2, 0.3, 0.9, 0.5, float("nan"))


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def curves(corpus: Corpus) -> list[Curve]:
    return replace_more(corpus, ["rule", "even"], SENTENCES)


def test_a_point_is_what_replacing_its_heads_changes(corpus: Corpus, curves: list[Curve]) -> None:
    """The point replaces half of the heads, the best explained first."""
    curve = next(each for each in curves if (each.instead, each.order) == ("rule", "explained"))
    heads = ordered_heads(corpus, "explained")[:2]
    found = replace_heads(corpus, sorted(heads), "rule", SENTENCES)
    point = curve.points[SHARES.index(0.5)]
    assert point.heads == 2
    assert (point.change, point.of_distance) == pytest.approx((found.vectors.mean, found.vectors.share))
    assert point.spearman == pytest.approx(found.vectors.spearman)


def test_no_head_changes_nothing_and_all_heads_are_the_same_in_any_order(curves: list[Curve]) -> None:
    for curve in curves:
        assert curve.points[0][:2] == (0, pytest.approx(0, abs=1e-12))
        assert curve.points[0].spearman == pytest.approx(1)
    last = {curve.order: curve.points[-1] for curve in curves if curve.instead == "even"}
    assert last["explained"] == pytest.approx(last["random"], nan_ok=True)


def test_the_same_heads_are_measured_once_and_the_share_that_is_done_grows() -> None:
    asked: list[Any] = []
    done: list[float] = []

    def measure(heads: Any, instead: Any, watch: Any) -> CurvePoint:
        asked.append((instead, heads))
        watch(0.5, None)
        return POINT

    orders = {"explained": [(0, 0), (0, 1)], "random": [(0, 1), (0, 0)]}
    found = measure_curves(orders, ["even"], measure, lambda share, _: done.append(share))
    assert len(found) == 2
    assert len(asked) == len(set(asked)) == 4  # no head, both heads, and each head alone
    assert done == sorted(done)
    assert 0 < done[-1] < 1


def test_a_curve_ends_where_nobody_waits() -> None:
    def measure(_heads: Any, _instead: Any, watch: Any) -> CurvePoint:
        watch(0.0, None)
        return POINT

    def leave(_share: float, _stage: str | None) -> None:
        raise ReaderLeft

    with pytest.raises(ReaderLeft):
        measure_curves({"random": [(0, 0)]}, ["off"], measure, leave)


def test_a_curve_of_heads_that_are_off_is_offered_in_words_that_end_the_sentence() -> None:
    offered = str(curve_panel(LinkState(page="sentence"), None, has_rules=True))
    assert "Draw, where heads: " in offered
    assert "add nothing (switched off)" in offered


def test_an_order_that_the_store_cannot_give_is_said(corpus: Corpus) -> None:
    orders, missing = known_orders(corpus)
    assert list(orders) == ["explained", "random"]
    assert "not computed" in str(missing["unimportant"])


def test_the_figure_has_a_line_in_both_axes_for_each_curve(curves: list[Curve]) -> None:
    figure = curve_figure(curves)
    assert len(figure.data) == 2 * len(curves)
    assert figure.data[0].name == "best explained first, rules"
    assert list(figure.data[0].x) == list(SHARES)
    assert figure.data[0].y[1] == curves[0].points[1].of_distance
    assert len({(trace.line.color, trace.line.dash) for trace in figure.data}) == len(curves)


def test_a_number_that_there_is_none_of_is_a_gap() -> None:
    curve = Curve("off", "random", (POINT._replace(spearman=float("nan")),) * len(SHARES))
    assert curve_figure([curve]).data[1].y[0] is None


def test_the_numbers_have_names(curves: list[Curve]) -> None:
    named = curve_dataset(curves)
    assert dict(named.sizes) == {"instead": 2, "order": 2, "share": 6}
    assert float(named.of_distance.sel(instead="even", order="random", share=0.5)) == next(
        curve.points[3].of_distance for curve in curves if (curve.instead, curve.order) == ("even", "random")
    )
    table = curve_table(curves)
    assert len(table["share"]) == len(curves) * len(SHARES)
    np.testing.assert_array_equal(named.heads, [0, 0, 1, 2, 3, 4])


def test_a_notebook_and_the_command_give_the_same_curve(
    roles_store: str, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([roles_store, "--curve", "--instead=even", f"--sentences={SENTENCES}"]) == 0
    said = capsys.readouterr().out
    found = headscape.replace_more(corpus, ["even"], sentences=SENTENCES)
    share = float(found.of_distance.sel(instead="even", order="explained", share=0.25))
    assert f"explained, 1 heads: {100 * share:.2f}%" in said
    assert "unimportant: Head importance: not computed." in said


# -- the page -------------------------------------------------------------------------------------------

ON = "?sentence=1&layer=1&head=0&heads=0"


@pytest.fixture(scope="module")
def roles_client(roles_store: str) -> FlaskClient:
    from dashboard.web.served_store import ServedStore

    return create_app(ServedStore(roles_store)).server.test_client()


def test_the_chart_is_on_the_page_with_its_file_and_the_order_that_is_missing(roles_client: FlaskClient) -> None:
    page = shown(roles_client, "below", "/sentence", f"{ON}&curve=even")
    assert "best explained first, even" in page
    assert "curve.csv?curve=even" in page
    assert "Head importance: not computed." in page


def test_without_a_choice_there_are_buttons_alone(roles_client: FlaskClient, client: FlaskClient) -> None:
    page = shown(roles_client, "below", "/sentence", ON)
    assert "curve=rule" in page
    assert "curve.csv" not in page
    assert "curve=rule" not in shown(client, "below", "/sentence", ON)


def test_the_file_has_a_row_for_every_point(roles_client: FlaskClient, roles_base: str, roles_store: str) -> None:
    rows = csv_rows(content(roles_client, f"{roles_base}/curve.csv?curve=even"))
    assert [row["share"] for row in rows[: len(SHARES)]] == ["0", "0.1", "0.25", "0.5", "0.75", "1"]
    assert {row["order"] for row in rows} == {"explained", "random"}
    assert {row[PROVENANCE] for row in rows} == {
        str(Provenance.of(open_snapshot(roles_store), [open_corpus(roles_store).name]))
    }


def test_a_file_without_a_replacement_is_refused(roles_client: FlaskClient, roles_base: str) -> None:
    assert roles_client.get(f"{roles_base}/curve.csv?curve=nothing").status_code == 404


@pytest.fixture(scope="module")
def roles_base(roles_store: str) -> str:
    from dashboard.web.http import data_link

    return data_link(open_corpus(roles_store))
