"""Pages, panels and notices that wait for an ingest say how far the ingest is."""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from dashboard.compare.feature_points import similarity_panel
from dashboard.compare.page import Compared, above_pictures, read
from dashboard.pages import TOPICS
from dashboard.points import pairs
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.shown import ShownPoints
from dashboard.statistics.heads import nearest, read_nearest
from dashboard.statistics.sections import importance, read_importance
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import Snapshot, open_corpus
from store.repository.ingest_status import IngestProgress
from store.repository.writer import open_writer
from tests.three_models import key_of

LINE = r"An ingest of a model on reviews is under way: pairs, 50%, about \d+ s left in this stage\."
#: Pattern of the start of a command on a page, which is in a separate sentence, as code.
RUN = r"Run (`|', Code\(')headscape"
TextOf = Callable[[Context], object]
SaidOfTwo = Callable[[Compared], object]


def above(context: Context) -> object:
    return TOPICS[context.state.page].layout(context).above


def near(context: Context) -> object:
    state = context.state
    return nearest(state, read_nearest(context.corpus, state.layer, state.head, context.ingest))


def head_importance(context: Context) -> object:
    return importance(read_importance(context.corpus, context.ingest))


def top_pairs(context: Context) -> object:
    return pairs.panel(ShownPoints.of(context, HeadTokens(context.corpus, 5, 0, 0)))


def in_another_picture(compared: Compared) -> object:
    """The notices on a picture of a point that only this model has."""
    assert compared.point is not None
    return replace(compared, chosen_point=replace(compared.point, view="pca-joint")).notices


#: For each missing part: page that waits, whether the ingest has only begun, and function that gives the page's text on it.
WAITING: dict[str, tuple[str, bool, TextOf]] = {
    "a picture, on page Heads": ("heads", True, above),
    "a picture, on page Head": ("head", True, above),
    "the map": ("map", True, above),
    "nearest heads": ("head", True, near),
    "highest-scoring pairs": ("head", True, top_pairs),
    "feature points": ("features", True, above),
    "head importance": ("statistics", False, head_importance),
    "a second model": ("compare", False, above),
    "a view of the link": ("heads?view=tsne-raw-2d", False, lambda context: context.notices),
}
#: For each part that two models do not both have (None): query of page Compare, and function that gives the text on it.
WAITING_IN_BOTH: dict[str, tuple[str, SaidOfTwo]] = {
    "pictures of a head": ("", lambda compared: above_pictures(replace(compared, head=None))),
    "the similarity of points": ("", lambda compared: similarity_panel(compared.two, None, compared.ingest)),
    "pictures of a point": ("pictures=point", lambda compared: above_pictures(replace(compared, chosen_point=None))),
    "a view of the other": ("view=pca-raw-2d", lambda compared: compared.notices),
    "a picture of points of the other": ("pictures=point&fview=pca-each", in_another_picture),
}


def running() -> IngestProgress:
    now = time.time()
    return IngestProgress("a model on reviews", "pairs", done=50, total=100, began=now - 30, updated=now)


class DuringAnIngest(ServedStore):
    ingest = running()


@pytest.fixture
def during_an_ingest() -> None:
    """Marks tests in which `waiting` takes an ingest to be running."""


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


@pytest.fixture(scope="module")
def begun(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> ServedStore:
    """A served store whose ingest has made nothing after the statistics of heads."""
    place = shutil.copytree(tiny_store, tmp_path_factory.mktemp("begun") / "store")
    with open_writer(str(place)) as writer:
        model = f"models/{open_corpus(tiny_store).name}"
        for stage in ("pairs", "divergence", "features"):
            writer.delete(f"{model}/{stage}")
        writer.group(model).attrs["views"] = []
        writer.publish("as after the first stage")
    return ServedStore(str(place))


@pytest.fixture
def waiting(request: pytest.FixtureRequest, served_store: ServedStore, begun: ServedStore) -> str:
    """The page's text on a part that the corpus lacks."""
    link, is_begun, text_of = WAITING[request.param]
    page, _, search = link.partition("?")
    return str(text_of(resolve(_seen(request, begun if is_begun else served_store), page, search)))


def _seen(request: pytest.FixtureRequest, served_store: ServedStore) -> ServedStore:
    """The served store, as during an ingest if the test asks for one."""
    return DuringAnIngest(served_store.url) if "during_an_ingest" in request.fixturenames else served_store


@pytest.mark.usefixtures("during_an_ingest")
@pytest.mark.parametrize("waiting", WAITING, indirect=True)
def test_a_missing_part_names_the_stage_of_the_ingest(waiting: str) -> None:
    assert re.search(LINE, waiting)
    assert not re.search(RUN, waiting)


@pytest.mark.usefixtures("during_an_ingest")
@pytest.mark.parametrize("waiting", ["a second model"], indirect=True)
def test_compare_says_during_an_ingest_how_to_add_a_second_model(waiting: str) -> None:
    finetune = "when it has ended: ', Code('headscape finetune --first=1600 --max-length=128'), ', then ', "
    assert f"{finetune}Code('headscape ingest --model=data/finetuned')" in waiting


@pytest.mark.parametrize("waiting", WAITING, indirect=True)
def test_a_missing_part_without_an_ingest_names_the_command(waiting: str) -> None:
    assert re.search(RUN, waiting)


@pytest.fixture
def waiting_of_two(request: pytest.FixtureRequest, three_models: str, models: Snapshot) -> str:
    """The text of page Compare on a part that two models do not both have."""
    query, text_of = WAITING_IN_BOTH[request.param]
    search = f"?model={key_of(models, 'tiny')}&other={key_of(models, 'second')}&{query}"
    context = resolve(_seen(request, ServedStore(three_models)), "compare", search)
    compared = read(context)
    assert isinstance(compared, Compared)
    return str(text_of(compared))


@pytest.mark.usefixtures("during_an_ingest")
@pytest.mark.parametrize("waiting_of_two", WAITING_IN_BOTH, indirect=True)
def test_a_part_that_two_models_lack_names_the_stage_of_the_ingest(waiting_of_two: str) -> None:
    assert re.search(LINE, waiting_of_two)
    assert not re.search(RUN, waiting_of_two)


@pytest.mark.parametrize("waiting_of_two", WAITING_IN_BOTH, indirect=True)
def test_a_part_that_two_models_lack_without_an_ingest_names_the_command(waiting_of_two: str) -> None:
    assert re.search(RUN, waiting_of_two)
