"""The pages in the order of the navigation, the first page first. Nothing else knows which there are."""

from dashboard.compare.page import COMPARE
from dashboard.features.page import FEATURES
from dashboard.head_map.page import HEAD_MAP
from dashboard.notes.page import NOTES
from dashboard.overview.page import OVERVIEW
from dashboard.points.page import HEADS, head_topic
from dashboard.relations.page import RELATIONS
from dashboard.sentence.charts import head_positions
from dashboard.sentence.page import SENTENCE
from dashboard.server_page.page import SERVER
from dashboard.statistics.head_panel import head_statistics
from dashboard.statistics.page import STATISTICS_OF_HEADS
from dashboard.store_page.page import STORE_PAGE
from dashboard.topic import topics_by_name
from dashboard.web.page_links import declare_pages

TOPICS = topics_by_name(
    OVERVIEW,
    HEADS,
    head_topic(statistics=head_statistics, positions=head_positions),
    STATISTICS_OF_HEADS,
    HEAD_MAP,
    RELATIONS,
    FEATURES,
    SENTENCE,
    COMPARE,
    NOTES,
    STORE_PAGE,
    SERVER,
)
declare_pages({name: topic.links for name, topic in TOPICS.items()})
