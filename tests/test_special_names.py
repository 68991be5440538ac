"""Names on pages for the special tokens around a text, and texts that are left out where a tokenizer has none."""

import json

import pytest
from dash import html
from plotly.io.json import to_json_plotly

from dashboard.ui.markup import condensed
from dashboard.ui.small_pictures import bar_legend, share_bar
from dashboard.web.special_names import in_names, renamed

#: Text in the code -> text with a tokenizer that has `<s>` and `</s>`, and with one that puts nothing around a text.
TEXTS = {
    "attention to [CLS]": ("attention to <s>", "attention to the first token"),
    "[CLS] only": ("<s> only", "First token only"),
    "without [CLS], [SEP] and self-attention.": (
        "without <s>, </s> and self-attention.",
        "without the first token and self-attention.",
    ),
    "Content words attend to [CLS] and [SEP].": (
        "Content words attend to <s> and </s>.",
        "Content words attend to the first token.",
    ),
    "7 tokens, [CLS] and [SEP] included: all": ("7 tokens, <s> and </s> included: all", "7 tokens: all"),
    "hide special tokens": ("hide special tokens", "hide the first token"),
}


@pytest.mark.parametrize(("text", "named"), TEXTS.items())
def test_special_tokens_are_called_as_the_tokenizer_does(text: str, named: tuple[str, str]) -> None:
    assert (in_names(text, ("<s>", "</s>")), in_names(text, (None, None))) == named


def test_words_of_the_data_and_of_a_reader_stay() -> None:
    content = condensed(
        [
            html.P("We put [CLS] before a text", className="sentence-text"),
            html.P(["Example: ", html.Q("[SEP]"), ". Keys: [CLS]"]),
            html.P("No token matches “[SEP]” as a token, and [CLS] none."),
        ],
        "above",
    )
    told = json.dumps(renamed(json.loads(to_json_plotly(content)), ("<s>", "</s>")), ensure_ascii=False)
    assert "We put [CLS] before a text" in told
    assert '"[SEP]"' in told
    assert "Keys: <s>" in told
    assert "“[SEP]” as a token, and <s> none." in told


def test_what_is_of_a_token_after_a_text_alone_is_left_out_where_there_is_none() -> None:
    shares = {"[CLS]": 0.4, "[SEP]": 0.0, "other tokens": 0.6}
    rows = [html.Tr([html.Th(f"attention to {name}"), html.Td("0.1")]) for name in shares]
    figure = html.Div([html.H3("Attention to [SEP] by query"), "drawn"], className="figure")
    choice = {"data": [{"value": name, "label": name} for name in shares], "lines": [{"name": name} for name in shares]}
    content = [
        *condensed([html.Table(rows), share_bar(shares), bar_legend(list(shares)), html.Div([figure])], "above"),
        choice,
    ]
    told = str(renamed(json.loads(to_json_plotly(content)), (None, None)))
    assert "token after" not in told
    assert "SEP" not in told
    assert told.count("First token") == 5
    assert told.count("other tokens") == 7
