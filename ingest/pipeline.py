"""The stages of an ingest in order, and the publication at the end."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, Protocol, TypeVar

import torch
from zarr.core.attributes import Attributes

from ingest import provenance
from ingest.encode.feature_points import FeaturePoints, check_features
from ingest.encode.loading import check_shapes, find_device, find_dtype, import_libraries
from ingest.encode.mixing import update_mixing
from ingest.encode.sample import Sample, split_sentences, take_sample
from ingest.encode.tensors import (
    ATTENTION,
    EncodeBlocks,
    Loading,
    ModelGroup,
    complete,
    encode_corpus,
    encode_on_workers,
    pending_blocks,
)
from ingest.heads.divergence import intervals_outdated, update_divergence, write_intervals
from ingest.heads.importance import check_labels, check_model, update_importance
from ingest.heads.pairs import update_pairs
from ingest.heads.roles import update_roles
from ingest.projections.feature_pictures import FeatureDrawing, pending_features
from ingest.projections.head_pictures import (
    HeadPictures,
    check_views,
    finished_views,
    pending_pictures,
    record_finished_views,
)
from ingest.projections.head_view import HeadVectors, has_been_whole
from ingest.projections.normalizations import normalize_corpus
from ingest.run.checkpoint import (
    Checkpoint,
    check_length,
    held_data,
    held_settings,
    longest_input,
    settings_checkpoint,
)
from ingest.run.cluster import Cluster, open_cluster
from ingest.run.errors import IngestError
from ingest.run.parallel import fits_killed_on_error
from ingest.run.progress import Note, noting, say
from ingest.run.settings import AUTO, NONE, USUAL, Limits, Settings, parse_first
from ingest.text.blocks import PlannedCorpus, short_key
from ingest.text.corpus import Budget, cut_report, find_corpus, prepare_corpus, stored_corpus
from ingest.text.reviews import Data, find_data
from ingest.words.annotate import annotate, annotated_sentences, annotation_kind, check_annotation, check_pipeline
from ingest.words.coreference import find_coreference, keep_mentions
from ingest.words.patterns import find_strongest_words
from ingest.words.relations import find_relations
from ingest.words.uas import find_uas
from store.phrases import held_sentences, many
from store.process import one_thread
from store.repository.access import open_repository
from store.repository.ingest_status import note_progress
from store.repository.writer import Writer, open_writer
from store.schema.model import NORM_FIRST
from store.schema.pictures import RAW, ViewName

#: Pictures of raw vectors, if they are the first in the order, that are made before all other stages.
EARLY = 2

Drawn = TypeVar("Drawn", bound="Drawing")


def run(
    settings: Settings, limits: Limits = USUAL, note: Note = note_progress, *, checkpoint: Checkpoint | None = None
) -> None:
    """Run the stages that have something to do, and publish; what the store holds is not computed again.

    `note` writes down the progress; `checkpoint` is the checkpoint of the settings, if the caller has found it.
    """
    checkpoint = checkpoint or settings_checkpoint(settings.model, settings.store)
    data = find_data(
        settings.data,
        split=settings.data_split,
        first=parse_first(settings.first),
        fewest=None if settings.first else Budget.of(settings).fewest_reviews,
        held=partial(held_data, settings.store),
    )
    settings = _with_length(settings, checkpoint)
    check_length(checkpoint, settings.max_length)
    if settings.max_length > limits.block:  # a sentence lies in one block
        raise IngestError(
            f"An ingest reads at most {limits.block} wordpieces. Give --max-length={limits.block} or less."
        )
    check_model(settings, checkpoint)
    check_views(settings, checkpoint)
    check_features(settings, checkpoint, data)
    check_annotation(settings, data)
    device = find_device(settings.device)
    dtype = find_dtype(settings.dtype, device)
    if checkpoint.place is not None:  # weights of a model in a store had the right shapes
        check_shapes(checkpoint)
    if settings.stage != "all":
        open_repository(settings.store)  # raises where there is no store, and leaves the place as it is
    of = f"{checkpoint.name} on {data.name}"
    with (
        open_writer(settings.store) as writer,
        noting(settings.store, of, note=note),
        fits_killed_on_error(),
        open_cluster(settings, limits) as cluster,
    ):
        planned = _planned(writer, settings, checkpoint, data, limits)
        ingest = Ingest(writer, settings, checkpoint, data, planned, device, dtype, cluster, limits)
        ingest.bring_up_to_date()
        if writer.unpublished:
            ingest.publish()
        elif not ingest.changed:
            say(f"Nothing to do: {settings.store} holds {ingest.model.key} with {ingest.held}.")
        say(cut_report(writer, planned, longest_input(checkpoint)))


def _with_length(settings: Settings, checkpoint: Checkpoint) -> Settings:
    """The default --max-length, or what the model reads where that is less."""
    longest = longest_input(checkpoint)
    if settings.max_length != Settings.max_length or settings.max_length <= longest:
        return settings
    say(f"{checkpoint.name} reads at most {longest} wordpieces, so longer sentences are cut: --max-length={longest}.")
    return replace(settings, max_length=longest)


def _planned(writer: Writer, settings: Settings, checkpoint: Checkpoint, data: Data, limits: Limits) -> PlannedCorpus:
    """The plan of the budget's sentences; for the projections alone, of those that the store holds."""
    if settings.stage == "all":
        meanwhile = partial(import_libraries, checkpoint)
        return prepare_corpus(writer, settings, data, checkpoint, limits=limits, meanwhile=meanwhile)
    held = find_corpus(writer, settings, data, checkpoint, limits)
    if held is None:
        raise _not_held(settings, data.name)
    return held


def _not_held(settings: Settings, name: str) -> IngestError:
    """The error for pictures of a model or of data that the store lacks; it names the model and data that came last into the store."""
    last = held_settings(settings.store)
    held = f"Give {last} for what it holds, or run" if last else "Run"
    return IngestError(f"{settings.store} holds nothing of {name} yet. {held} `headscape ingest` first.")


class Ingest:
    """The stages after the sentences, for one model on one corpus; `changed` tells whether any had something to do."""

    def __init__(
        self,
        writer: Writer,
        settings: Settings,
        checkpoint: Checkpoint,
        data: Data,
        corpus: PlannedCorpus,
        device: torch.device,
        dtype: torch.dtype,
        cluster: Cluster | None,
        limits: Limits,
    ) -> None:
        self.writer, self.settings, self.checkpoint, self.data = writer, settings, checkpoint, data
        self.device, self.dtype, self.cluster, self.limits = device, dtype, cluster, limits
        self.model = model_group(checkpoint, corpus, dtype=str(self.dtype).removeprefix("torch."))
        attributes = dict(writer.group(self.model.path).attrs)
        stored_before = int(str(attributes.get("sentences", 0)))
        self.held_before = int(str(attributes.get("counted_sentences", stored_before)))
        if settings.stage == "projections" and not self.held_before:
            raise _not_held(settings, checkpoint.name)
        # A stored corpus is never made smaller; if its ingest was killed before the pictures, they are finished now.
        smaller = settings.stage == "projections" or self.held_before > corpus.sentences
        every = stored_corpus(writer, corpus.key, self.held_before, limits) if smaller else corpus
        vectors = 0 if settings.stage == "projections" else settings.vector_tokens
        self.counted = every.with_vectors_of(vectors, sentences=stored_before)
        #: Corpus of all stages after the encoder: the sentences with vectors.
        self.corpus = self.counted.stored
        self.changed = False
        check_labels(writer, settings, checkpoint, self.corpus)

    @property
    def held(self) -> str:
        """Sentences and pictures of the model that the store holds, in words."""
        attributes: dict[str, Any] = dict(self.writer.group(self.model.path).attrs)
        return f"{held_sentences(attributes)}, {many(len(attributes['views']), 'picture')}"

    def bring_up_to_date(self) -> None:
        """Run the stages; a new model can be read from its first picture on, and pictures of raw vectors need no normalisation.

        Fits run in processes of low priority from the moment that their input is there: other stages leave some time of the cores.
        """
        check_pipeline(self.writer, self.corpus, self.settings)
        self._encode()
        sample, split = take_sample(self.corpus, self.limits), split_sentences(self.corpus, self.limits)
        seed, device = self.settings.seed, str(self.device)
        head_vectors = HeadVectors(self.writer, self.model, self.corpus, split, seed, device, self.limits)
        names = self._names()
        early = list(takewhile(lambda name: name.normalization == RAW, names[:EARLY]))
        self._project(self._pending(head_vectors, early), head_vectors, names)
        annotated = self._annotate()
        self.changed |= normalize_corpus(self.writer, self.model, self.corpus, split)
        if not early:
            self._project(self._pending(head_vectors, names[:1]), head_vectors, names)
        pictures = self._pending(head_vectors, names[max(1, len(early)) :])
        feature_pictures = self._pending_features(sample)
        grown = self.changed or self.held_before < self.counted.sentences
        # Committed by `complete`, together with the size of the plan.
        added = update_pairs(self.writer, self.model, self.corpus, self.cluster)
        added |= update_divergence(
            self.writer, self.model, self.corpus, sample, str(self.device), self.settings.seed, self.limits
        )
        if added or grown or intervals_outdated(self.writer, self.model, self.counted):
            write_intervals(self.writer, self.model, self.counted, seed=self.settings.seed)
            complete(self.writer, self.model, self.counted, views=finished_views(head_vectors, names))
            self.changed = True
            self._show_early()
        self._find_words(annotated)
        self._find_roles()
        self._project(pictures, head_vectors, names)
        # An ingest may have been killed between the end of a picture and its being named.
        self.changed |= record_finished_views(self.writer, head_vectors, names)
        for _ in draw(self.writer, feature_pictures):
            self.changed = True
            self._show_early()
        self._mix(sample)
        self._judge_heads(sample)
        self._train_probes()
        self._renew_provenance()

    def _annotate(self) -> bool:
        """Bring the words of this corpus up to date."""
        added = keep_mentions(self.writer, self.corpus, self.settings, self.data)
        return annotate(self.writer, self.corpus, self.settings, self.data, self.checkpoint) or added

    def _find_words(self, added: bool) -> None:
        """Bring what follows from the words up to date for this model; `added` tells whether words are new."""
        if annotated_sentences(self.writer, self.corpus) >= self.corpus.sentences:
            with one_thread("blas"):  # the matrices are small: threads would wait for each other
                added |= find_strongest_words(self.writer, self.model, self.corpus, self.cluster)
                for find in (find_relations, find_coreference):
                    added |= find(
                        self.writer,
                        self.model,
                        self.corpus,
                        self.checkpoint,
                        self.device,
                        self.settings.seed,
                        self.limits,
                    )
        if added:
            self.changed = True
            self._show_early()

    def _find_roles(self) -> None:
        """Bring rules and roles of the heads up to date, roles of grammar too where there are words."""
        self.changed |= update_roles(
            self.writer,
            self.model,
            self.corpus,
            self.checkpoint,
            self.device,
            self.settings.seed,
            self.limits,
            self.cluster,
        )

    def _train_probes(self) -> None:
        """Train probes of governors: they take long, so all pictures come first."""
        writer, settings = self.writer, self.settings
        if annotated_sentences(writer, self.corpus) < self.corpus.sentences or settings.probes == NONE:
            return
        few = settings.probes == AUTO and annotation_kind(writer, self.corpus) != "gold"
        with one_thread("blas"):  # as above
            self.changed |= find_uas(
                writer, self.model, self.corpus, self.checkpoint, self.device, settings.seed, few=few
            )

    def _pending_features(self, sample: Sample) -> Sequence[FeatureDrawing]:
        """The pictures of feature points that are not finished, with their fits begun."""
        points = FeaturePoints(
            self.writer,
            self.model,
            self.corpus,
            sample,
            self.settings,
            self.checkpoint,
            self.data,
            self.device,
            self.limits,
        )
        return start_fits(pending_features(points))

    def _mix(self, sample: Sample) -> None:
        """Bring the inner products of context mixing, and what follows from them, up to date."""
        if self.settings.stage == "all":
            self.changed |= update_mixing(
                self.writer,
                self.model,
                self.corpus,
                sample,
                settings=self.settings,
                checkpoint=self.checkpoint,
                device=self.device,
                dtype=self.dtype,
            )

    def _judge_heads(self, sample: Sample) -> None:
        self.changed |= update_importance(
            self.writer,
            self.model,
            self.corpus,
            sample,
            settings=self.settings,
            checkpoint=self.checkpoint,
            device=self.device,
        )

    def _pending(self, head_vectors: HeadVectors, names: list[ViewName]) -> Sequence[HeadPictures]:
        """The pictures of these names that are not finished, with their fits begun."""
        return start_fits(pending_pictures(self.writer, head_vectors, names, self.cluster))

    def _project(self, pictures: Sequence[HeadPictures], head_vectors: HeadVectors, names: list[ViewName]) -> None:
        """Bring pictures up to date and list the whole ones; the first picture of a new model shows it to readers."""
        for _ in draw(self.writer, pictures):
            self.changed = True
            if "views" in self.writer.group(self.model.path).attrs:
                record_finished_views(self.writer, head_vectors, names)
            else:
                complete(self.writer, self.model, self.counted, views=finished_views(head_vectors, names))
            self._show_early()

    def publish(self) -> None:
        """Publish the branch: readers see it from now on."""
        snapshot = self.writer.publish(f"{self.checkpoint.name} on {self.data.name}: {self.held}")
        say(f"Published {self.model.key} with {self.held} in {self.settings.store} as snapshot {snapshot}.")

    def _show_early(self) -> None:
        """Publish a new model picture by picture. Readers of a known model see all changes at the end."""
        if not self.held_before:
            self.publish()

    def _encode(self) -> None:
        blocks = pending_blocks(self.writer, self.model, self.counted)
        if not blocks:
            return
        from ingest.encode.encoder import open_encoder

        encoder = open_encoder(self.checkpoint, self.settings, self.device, self.dtype)
        before: Any = self._attributes.get("provenance", {})
        of = before, self.settings, self.checkpoint, self.data, self._names()
        self._attributes.update(
            {"provenance": provenance.encoded(*of, encoder), NORM_FIRST: self.checkpoint.family.norm_first}
        )
        encode_corpus(self.writer, self.model, self.counted, blocks, encoder, self._workers())
        self.changed = True

    def _renew_provenance(self) -> None:
        """Say what an ingest that encoded nothing made, and where model and data are now: a server looks for them there."""
        before: Any = self._attributes["provenance"]
        made = self.changed or self.writer.unpublished
        now = provenance.computed(before, self.settings, self.data, self._names()) if made else before
        now = provenance.placed(now, self.settings, self.checkpoint, self.data)
        if now != before:
            self._attributes["provenance"] = now
            self.writer.commit(f"{self.model.key}: provenance")
            self.changed = True

    @property
    def _attributes(self) -> Attributes:
        return self.writer.group(self.model.path).attrs

    def _workers(self) -> EncodeBlocks | None:
        """Function that encodes blocks on the workers; None where there are none."""
        if self.cluster is None:
            return None
        loading = Loading(self.settings, str(self.device), self.dtype, self.checkpoint.weights_sha256)
        return partial(encode_on_workers, self.cluster, self.writer, self.model, loading)

    def _names(self) -> list[ViewName]:
        """Names of the views in the settings, and of those already published: they grow with the corpus."""
        groups = dict(self.writer.group(f"{self.model.path}/views").groups())
        there = [ViewName.parse(name) for name in sorted(groups) if has_been_whole(groups[name])]
        return list(dict.fromkeys([*self.settings.view_names, *there]))


def model_group(checkpoint: Checkpoint, corpus: PlannedCorpus, *, dtype: str) -> ModelGroup:
    """The group of a model, identified by everything its numbers depend on except the sentences."""
    identity = {
        "corpus": corpus.key,
        "model_id": checkpoint.name,
        "weights_sha256": checkpoint.weights_sha256,
        "config": checkpoint.config,
        "dtype": dtype,
        "attention": f"{ATTENTION} + {added}" if (added := checkpoint.family.added) else ATTENTION,
    }
    renewed = {"token_rule": corpus.token_rule} if corpus.token_rule else {}
    return ModelGroup(short_key(checkpoint.name, identity), identity | renewed)


class Drawing(Protocol):
    """A picture, or several that are computed together because they place the same vectors."""

    def begin(self) -> None:
        """Start the fits that run in processes, so that other pictures need not wait for them."""
        ...

    def draw(self) -> Iterator[str]:
        """Fit, place, judge and write. Yields a commit message wherever the store may be left as it is."""
        ...

    def finish(self) -> str:
        """Describe the pictures and mark them as whole; returns the message of the last commit."""
        ...


def start_fits(drawings: Sequence[Drawn]) -> Sequence[Drawn]:
    """Start the fits of pictures, unless they have begun; returns the pictures."""
    for drawing in drawings:
        drawing.begin()
    return drawings


def draw(writer: Writer, drawings: Sequence[Drawn]) -> Iterator[Drawn]:
    """Compute pictures one after the other; each is yielded when it is whole and committed."""
    for drawing in start_fits(drawings):
        for message in drawing.draw():
            writer.commit(message)
        writer.commit(drawing.finish())
        yield drawing
