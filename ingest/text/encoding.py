"""The encoding of a text file, from its first bytes; and what a line that is not UTF-8 may be."""

import codecs
from collections.abc import Mapping

#: Byte-order marks; that of UTF-32 begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Which of the first four bytes are zero where text begins with two letters of ASCII (RFC 4627, section 3).
ZEROS: Mapping[tuple[bool, ...], str] = {
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
}
UTF_8 = "utf-8-sig"
#: Encodings of older files by Python's name -> their name for iconv.
OLDER: Mapping[str, str] = {
    "cp1252": "WINDOWS-1252",
    "cp1251": "WINDOWS-1251",
    "koi8_r": "KOI8-R",
    "cp932": "CP932",
    "euc_jp": "EUC-JP",
    "gb18030": "GB18030",
    "euc_kr": "EUC-KR",
}


def encoding_of(first: bytes) -> str:
    """The encoding of a file that begins with these bytes: UTF-16 or UTF-32 where they say so, else UTF-8."""
    marked = next((encoding for mark, encoding in MARKS.items() if first.startswith(mark)), None)
    return marked or ZEROS.get(tuple(byte == 0 for byte in first[:4]), UTF_8)


def older_encoding(sample: bytes) -> str | None:
    """The encoding that bytes that are not UTF-8 are most likely in; None where none of `OLDER` is."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(OLDER)).best()
    return best.encoding if best and best.encoding in OLDER else None
