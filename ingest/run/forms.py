"""The forms of data files, by the endings of their names: any other name that is not there is one of the hub."""

import re
from pathlib import Path

#: A file that ends so is decompressed while it is read.
GZIP = ".gz"
TREEBANKS = (".conllu", ".conllx", ".conll10")
#: Coreference: CoNLL-2012, and the table of GAP, a tsv with its columns.
CONLL, GAP_TABLE = ".conll", ".gap.tsv"
CSV, TSV, PLAIN, PARQUET = ".csv", ".tsv", ".txt", ".parquet"
FORMS = (CSV, TSV, PARQUET, ".jsonl", ".json", PLAIN, *TREEBANKS, CONLL)
#: Other endings of the same forms; CoNLL-2012 has its versions in their names.
ALIASES = {".ndjson": ".jsonl", ".pq": PARQUET, ".tab": TSV}
CONLL_2012 = re.compile(r"\.v\d+_(gold|auto)_conll")
#: Files of `datasets`, of which several are read as one table.
ARROW = ".arrow"


def is_compressed(path: Path) -> bool:
    """Whether a file is named as compressed with gzip."""
    return path.suffix.lower() == GZIP


def form_of(path: Path) -> str | None:
    """Form of a file by its name in any case, without a `.gz`; None where it cannot be read. Parquet is compressed inside."""
    compressed = is_compressed(path)
    ending = (path.with_suffix("") if compressed else path).suffix.lower()
    form = CONLL if CONLL_2012.fullmatch(ending) else ALIASES.get(ending, ending)
    return form if form in FORMS and not (compressed and form == PARQUET) else None


def is_named_as_data(path: Path) -> bool:
    """Whether a name is that of a file of data, and of no data set of the hub, there or not."""
    return bool(form_of(path)) or is_compressed(path) or path.suffix == ARROW
