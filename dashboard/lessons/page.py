"""Page Lessons: links to what is worth a look in this model and corpus, each with a sentence of what to look for."""

from collections.abc import Sequence
from dataclasses import dataclass

from dash import dcc, html

from dashboard.lessons.lessons import Lesson, lessons_of
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.markup import Page
from dashboard.web.bounds import on_same_corpus
from dashboard.web.context import Context
from dashboard.web.state import LinkState

HOW = "Each lesson is a link and a sentence of what to look for. Lessons for which this store has nothing are left out."
#: The tag of notes on saved views that are lessons.
TAG = "lesson"


@dataclass(frozen=True)
class LessonsPage:
    """The lessons of this store, and the link to the lessons that people of this server have saved."""

    lessons: Sequence[Lesson]
    saved: str


def read(context: Context) -> LessonsPage:
    """The lessons that the shown model and corpus have something for."""
    corpus, state = context.corpus, context.state
    others = on_same_corpus(context.snapshot, corpus)
    saved = LinkState(page="notes", model=state.model, snapshot=state.snapshot, about="view", tag=TAG).href
    return LessonsPage(list(lessons_of(corpus, state, others)), saved)


def draw(page: LessonsPage) -> Page:
    """The list of lessons."""
    below = html.P(
        [
            "To make a lesson of your own: save a view under Notes with the tag “lesson”. It stands among the ",
            dcc.Link("lessons of this server", href=page.saved),
            ".",
        ],
        className="caption",
    )
    return Page(
        above=[
            html.H1("Lessons"),
            html.P(HOW, className="how-to-read"),
            html.Ol(list(map(_lesson, page.lessons)), className="lessons"),
            below,
        ]
    )


def _lesson(lesson: Lesson) -> html.Li:
    links = [part for text, href in lesson.links for part in (" · ", dcc.Link(text, href=href))][1:]
    return html.Li([html.H2(lesson.title), html.P(lesson.look_for), html.P(links)])


LESSONS = Topic(
    name="lessons",
    title="Lessons",
    letter="l",
    docs="statistics.md#heads-beside-heads",
    layout=read_then_draw(read, draw),
)
