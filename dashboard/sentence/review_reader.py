"""A review of the data that a corpus was made of, split into sentences as the ingest splits it: read in its own process.

`python -m dashboard.sentence.review_reader` reads a question as JSON and writes the answer: workers of a server have no pyarrow.
"""

import json
import logging
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from dashboard.web.admission import Room
from dashboard.web.corpus_model import runs_models
from dashboard.web.processes import environment, own_module
from store import Corpus

#: Seconds that reading a review may take: a table that is not cached is converted first.
PATIENCE = 25.0
#: Room for two reviews that a worker reads at once; other readers must ask again.
_ROOM = Room(2, "The server reads other reviews. Try again in a few seconds.")
#: Why there is no review, and what to do.
_NO_EXTRA = "To show the whole review, install the extra `ingest` on the server."
_ON_HUB = "The whole review is on the hub, which pages do not ask; show it on the hub's page of the data."
_UNREAD = "The data of the store cannot be read on this server. Put it back to see the whole review."
log = logging.getLogger("headscape")


@dataclass(frozen=True)
class Found:
    """The sentences of a review with their content hashes; or why there are none."""

    texts: tuple[str, ...] = ()
    hashes: tuple[int, ...] = ()
    missing: str = ""


def read_review(corpus: Corpus, document: int) -> Found:
    """A review by its index in the data of a corpus."""
    provenance = corpus.attributes.get("provenance", {})
    data, settings = provenance.get("data"), provenance.get("settings")
    if not data or not settings:
        return Found(missing=_UNREAD)
    if not runs_models():
        return Found(missing=_NO_EXTRA)
    if str(data["identity"]).startswith("hub:"):
        return Found(missing=_ON_HUB)
    columns = {name: settings[name] for name in ("text", "label")}
    split = {name: corpus.corpus_attributes[name] for name in ("splitter", "seed")}
    return _answer({"data": data, "document": document} | columns | split)


def _answer(question: dict[str, Any]) -> Found:
    command = own_module("dashboard.sentence.review_reader")
    try:
        with _ROOM.entered():
            ended = subprocess.run(
                command,
                input=json.dumps(question),
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=PATIENCE,
                env=environment(),
                check=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("could not read review %d: %s", question["document"], getattr(error, "stderr", None) or error)
        return Found(missing=_UNREAD)
    answer = json.loads(ended.stdout)
    return Found(tuple(answer["texts"]), tuple(answer["hashes"]))


def found_in_data(question: dict[str, Any]) -> Found:
    """The answer to a question, read by the ingest's own functions. Raises their errors."""
    from ingest.text.reviews import Data, read_reviews
    from ingest.text.sentences import split_reviews

    reviews = read_reviews(Data(**question["data"]), text=question["text"], label=question["label"])
    review = reviews[question["document"]]
    sentences = list(split_reviews([review], seed=question["seed"], splitter=question["splitter"]))
    return Found(tuple(each.text for each in sentences), tuple(each.hash for each in sentences))


if __name__ == "__main__":
    json.dump(asdict(found_in_data(json.load(sys.stdin))), sys.stdout)
