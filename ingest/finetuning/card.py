"""The model card: what a fine-tuned checkpoint is, how it was made, and what was measured."""

from collections.abc import Mapping
from typing import Any

from ingest.finetuning.data import head_length
from ingest.run.checkpoint import Checkpoint
from ingest.text.reviews import Data

#: What the hub calls a checkpoint that did not come from there.
HUB_NAMES = {"all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}


def make_card(
    name: str, checkpoint: Checkpoint, data: Data, settings: Mapping[str, Any], metrics: Mapping[str, Any]
) -> str:
    """README.md of the checkpoint, as the hub reads it."""
    parts = [
        _front_matter(checkpoint),
        f"# {name}\n\n{checkpoint.name} fine-tuned to tell {_listed(metrics['labels'])} apart, on {data.name}.",
        "## Measured\n\n" + _measured(metrics),
        "## How it was trained\n\n" + _trained(checkpoint, data, settings, metrics),
        "## How to use it\n\n" + _usage(name),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(checkpoint: Checkpoint) -> str:
    lines = ["library_name: transformers", "pipeline_tag: text-classification"]
    lines += (
        [f"base_model: {HUB_NAMES.get(checkpoint.name, checkpoint.name)}"] if checkpoint.revision != "local" else []
    )
    return "\n".join(["---", *lines, "---"])


def _measured(metrics: Mapping[str, Any]) -> str:
    rows = [("held out of the training data", metrics["held_reviews"], metrics)]
    test = metrics["test"]
    rows += [("test split", test["reviews"], test)] if test else []
    lines = [
        f"| {title} | {reviews:,} | {scores['accuracy']:.4f} | {scores['loss']:.4f} |"
        for title, reviews, scores in rows
    ]
    note = (
        "The held-out reviews were never trained on, but say which of the evaluations is the best, "
        "so their accuracy is a little too high."
    )
    note += _note_on_test(metrics)
    curve = "".join(
        f"| {scores['step']:,} | {scores['accuracy']:.4f} | {scores['loss']:.4f} |\n" for scores in metrics["curve"]
    )
    return (
        "| reviews | count | accuracy | loss |\n| --- | --- | --- | --- |\n" + "\n".join(lines) + f"\n\n{note}\n\n"
        f"| step | held-out accuracy | held-out loss |\n| --- | --- | --- |\n{curve}\n"
        f"The saved model is that of step {metrics['step']:,} of {metrics['steps']:,} (planned: {metrics['planned_steps']:,}), "
        f"after {metrics['seconds'] / 60:.1f} minutes of training and evaluation "
        f"({metrics['epochs'] * metrics['train_wordpieces'] / metrics['seconds']:,.0f} wordpieces a second)."
    )


def _note_on_test(metrics: Mapping[str, Any]) -> str:
    if metrics["test_left_out"]:
        return f" Left out of the test split: {metrics['test_left_out']:,} reviews that are in the training data too."
    return "" if metrics["test"] else " The data has no test split."


def _trained(checkpoint: Checkpoint, data: Data, settings: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    room = settings["max_length"] - 2
    head = head_length(room)
    rows = {
        "start": f"{checkpoint.name}, weights sha256 {checkpoint.weights_sha256}",
        "data": f"{data.name}, {data.identity}",
        "trained on": f"{metrics['train_reviews']:,} different reviews, {metrics['train_wordpieces']:,} wordpieces an epoch",
        "epochs": settings["epochs"],
        "reviews a step": settings["batch"],
        "learning rate": f"{metrics['learning_rate']}, AdamW, linear warm-up over a tenth of the steps, then down to 0",
        "wordpieces": f"{settings['max_length']}; longer reviews keep the first {head} and the last {room - head} "
        "between [CLS] and [SEP] (head + tail, Sun et al. 2019, section 5.3)",
        "frozen": f"embeddings and {settings['freeze']} lower layers" if settings["freeze"] else "nothing",
        "seed": settings["seed"],
        "device": f"{settings['device']}, {metrics['precision']}",
        "versions": ", ".join(f"{package} {number}" for package, number in metrics["versions"].items()),
    }
    return "| | |\n| --- | --- |\n" + "\n".join(f"| {title} | {value} |" for title, value in rows.items())


def _usage(name: str) -> str:
    return (
        "```python\nfrom transformers import pipeline\n\n"
        f'pipeline("text-classification", "{name}", truncation=True)("A film to remember.")\n```\n\n'
        "It was trained on beginnings and ends of long reviews; `truncation=True` keeps beginnings alone. "
        "Its heads beside those of the model it started from: `headscape ingest --model=<this folder>`."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"
