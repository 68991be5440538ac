"""The tokenizer that a checkpoint was saved with: loaded, or refused in a sentence that says what it lacks."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ingest.run.checkpoint import Checkpoint, family_in
from ingest.run.errors import IngestError, short
from ingest.text.japanese import with_offsets

#: transformers' classes that hand out no offsets, and what makes them: these wordpieces, with offsets.
WITHOUT_OFFSETS = {"BertJapaneseTokenizer": with_offsets}
#: How transformers names a package that a tokenizer needs.
PACKAGE = re.compile(r"install ([\w-]+)|The ([\w-]+) dictionary is not installed|requires the ([\w-]+) library")
#: A letter that no vocabulary has and no tokenizer leaves out: of the ancient script of South Arabia.
UNKNOWN = "\U00010a60"


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer that a checkpoint was saved with: fast, with the names of the tokens that it puts around a text.

    Raises
    ------
    IngestError
        Where it is not there, cannot be loaded, or does not make of a text what a model of its family reads.
    """
    import transformers

    family = family_in(folder)
    files = ("tokenizer.json", family.vocabulary[0])
    if not any((folder / name).is_file() for name in files):  # transformers would make one without wordpieces
        raise IngestError(f"{folder} has no tokenizer ({' or '.join(files)}). Save it with tokenizer.save_pretrained.")
    try:  # with a config, config.json is left alone: it was checked for what the model reads
        config = getattr(transformers, family.config_class)()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, config=config, trust_remote_code=False)
    except ImportError as error:
        raise _uninstalled(folder, error) from error
    except Exception as error:  # `tokenizers` raises nothing more exact
        raise IngestError(
            f"The tokenizer in {folder} cannot be loaded ({type(error).__name__}: {short(error)}). Save it again with tokenizer.save_pretrained."
        ) from error
    return _with_ends(_with_offsets(tokenizer, folder), folder, family.post_processor)


def check_vocabulary(checkpoint: Checkpoint, vocab: Sequence[str]) -> None:
    """Refuse a tokenizer with more wordpieces than the embedding of the model has rows; fewer are allowed.

    Raises
    ------
    IngestError
        Names both numbers and the first wordpiece without a row.
    """
    rows = checkpoint.family.size(checkpoint.config, "vocab_size")
    if len(vocab) > rows:
        raise IngestError(
            f"The tokenizer of {short(checkpoint.name)} has {len(vocab):,} wordpieces, and the embedding of the model {rows:,} rows: "
            f"{short(repr(vocab[rows]))} has no vector. Save the model again after model.resize_token_embeddings({len(vocab)})."
        )


def _with_offsets(tokenizer: Any, folder: Path) -> Any:
    if tokenizer.is_fast:
        return tokenizer
    name = type(tokenizer).__name__
    if name not in WITHOUT_OFFSETS:
        raise IngestError(
            f"The tokenizer in {folder} ({name}) does not tell which characters of a text a wordpiece stands for. "
            "Save it as a fast tokenizer, in tokenizer.json."
        )
    return WITHOUT_OFFSETS[name](tokenizer)


def _with_ends(tokenizer: Any, folder: Path, processor: str) -> Any:
    """The same with the tokens that it puts before and after a text under the names cls_token and sep_token."""
    try:
        ends, _unknown = (tokenizer(text)["input_ids"] for text in ("", UNKNOWN))
    except Exception as error:  # `tokenizers` raises nothing more exact
        raise IngestError(
            f"The tokenizer in {folder} cannot read a text with an unknown letter ({short(error)}). "
            "Save it again with an unk_token that is in its vocabulary."
        ) from error
    if len(ends) < 2 or not {ends[0], ends[-1]} <= tokenizer.added_tokens_decoder.keys():
        named = tokenizer.cls_token is not None and tokenizer.sep_token is not None
        problem = "it has no post-processor" if named else "it names no cls_token and sep_token"
        raise IngestError(
            f"The tokenizer in {folder} ({type(tokenizer).__name__}) puts no [CLS] before a text and no [SEP] after it: {problem}. "
            f"Save it again with cls_token, sep_token and the post-processor tokenizers.processors.{processor}."
        )
    tokenizer.cls_token, tokenizer.sep_token = tokenizer.convert_ids_to_tokens([ends[0], ends[-1]])
    return tokenizer


def _uninstalled(folder: Path, error: ImportError) -> IngestError:
    """The error for a tokenizer that needs a package which is not there."""
    described: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        described = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    found = PACKAGE.search(str(error))
    package = error.name or (next(filter(None, found.groups())) if found else short(error))
    return IngestError(
        f"The tokenizer in {folder} ({described.get('tokenizer_class', 'of transformers')}) needs the package {package}, which is not installed. "
        f"Install it: pip install {package}."
    )
