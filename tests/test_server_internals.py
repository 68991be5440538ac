"""Undocumented parts of Dash, waitress and gunicorn that we use: a test fails where a new release changes them."""

from inspect import getsource, signature

import pytest
from dash import ALL, Dash, Input, Output, State, dcc, html
from gunicorn.arbiter import Arbiter
from gunicorn.config import KNOWN_SETTINGS
from gunicorn.workers.base import Worker
from prometheus_client import metrics, mmap_dict, values
from waitress import buffers, task, wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer

from dashboard.monitoring.metrics import VARIABLE
from dashboard.web.admission import DISCONNECTED
from dashboard.web.connections import BufferingWorker, Connection, FrontServer, Request, adjustments
from dashboard.web.security import CALLBACKS


@pytest.fixture
def app() -> Dash:
    """An application with three callbacks: with one output, with several, and in the browser."""
    app = Dash(__name__)
    app.layout = html.Div([dcc.Input(id="text"), html.Div(id="one"), html.Div(id="two"), html.Div(id="three")])
    app.callback(Output("one", "children"), Input("text", "value"), State({"kind": ALL}, "value"))(lambda *_: "")
    outputs = Output("two", "children"), Output("three", "children")
    app.callback(*outputs, Input("text", "value"))(lambda _: ("", ""))
    app.clientside_callback("(value) => value", Output("three", "title"), Input("text", "value"))
    app.server.test_client().get("/")
    return app


def test_dash_lists_callbacks_by_the_names_of_their_outputs(app: Dash) -> None:
    assert set(app.callback_map) == {"one.children", "..two.children...three.children..", "three.title"}


def test_dash_lists_the_properties_that_a_callback_reads(app: Dash) -> None:
    callback = app.callback_map["one.children"]
    assert callback["inputs"] == [{"id": "text", "property": "value"}]
    assert callback["state"] == [{"id": '{"kind":["ALL"]}', "property": "value"}]


def test_dash_has_no_function_for_a_callback_of_the_browser(app: Dash) -> None:
    assert {name for name, callback in app.callback_map.items() if "callback" not in callback} == {"three.title"}


def test_dash_answers_callbacks_under_this_path(app: Dash) -> None:
    assert CALLBACKS in {rule.rule for rule in app.server.url_map.iter_rules()}


@pytest.mark.parametrize(
    ("own", "of_waitress", "names"),
    [
        (Connection, HTTPChannel, ["add_channel", "del_channel", "received", "write_soon"]),
        (FrontServer, TcpWSGIServer, ["handle_accept", "maintenance"]),
        (Request, HTTPRequestParser, ["parse_header"]),
    ],
)
def test_waitress_calls_what_our_classes_override(own: type, of_waitress: type, names: list[str]) -> None:
    for name in names:
        assert list(signature(getattr(own, name)).parameters) == list(signature(getattr(of_waitress, name)).parameters)


@pytest.mark.parametrize(
    "name",
    ["requests", "request", "total_outbufs_len", "last_activity", "_fileno", "server", "addr", "readable", "writable"],
)
def test_a_channel_of_waitress_has_what_we_read_of_it(name: str) -> None:
    assert hasattr(HTTPChannel, name) or f"self.{name} = " in getsource(HTTPChannel) + getsource(wasyncore.dispatcher)


@pytest.mark.parametrize("name", ["first_line", "headers", "chunked", "headers_finished"])
def test_a_parser_of_waitress_has_what_we_read_of_it(name: str) -> None:
    assert f"{name} = " in getsource(HTTPRequestParser)


def test_a_server_of_waitress_lists_its_channels_and_takes_a_socket() -> None:
    assert {"map", "_sock", "dispatcher", "adj", "sockinfo", "bind_socket"} <= set(
        signature(TcpWSGIServer.__init__).parameters
    )
    assert "self.active_channels = " in getsource(TcpWSGIServer.__mro__[1].__init__)


def test_waitress_has_the_settings_that_we_change() -> None:
    changed = adjustments(10)
    assert isinstance(changed, Adjustments)
    assert changed.channel_request_lookahead == 1


def test_waitress_says_whether_a_client_has_left() -> None:
    assert DISCONNECTED in getsource(task)


@pytest.mark.parametrize("name", ["sockets", "ppid", "alive", "cfg", "notify", "wsgi", "PIPE"])
def test_a_worker_of_gunicorn_has_what_we_read_of_it(name: str) -> None:
    assert issubclass(BufferingWorker, Worker)
    assert hasattr(Worker, name) or f"self.{name} = " in getsource(Worker)


def test_gunicorn_has_the_settings_that_we_change() -> None:
    from dashboard.server import Server

    known = {setting.name for setting in KNOWN_SETTINGS}
    assert known >= {"bind", "workers", "threads", "worker_class", "control_socket_disable", "graceful_timeout"}
    assert "load_config" in vars(Server)


def test_gunicorn_calls_what_our_arbiter_and_worker_override() -> None:
    assert "self.reload()" in getsource(Arbiter.handle_hup)
    assert "return pid" in getsource(Arbiter.spawn_worker)
    assert "raise HaltServer" in getsource(Arbiter.reap_workers)
    assert "self.kill_worker(pid, signal.SIGTERM)" in getsource(Arbiter.manage_workers)
    assert signature(Worker.init_signals).parameters.keys() == {"self"}


def test_gunicorn_lets_every_signal_write_into_the_pipe_of_a_worker() -> None:
    assert "signal.set_wakeup_fd(self.PIPE[1])" in getsource(Worker.init_signals)


def test_prometheus_client_takes_the_kind_of_a_value_when_a_metric_is_made() -> None:
    assert "values.ValueClass(" in getsource(metrics.Counter)
    assert VARIABLE in getsource(values.MultiProcessValue)


def test_prometheus_client_makes_and_reads_its_files_as_ours_do() -> None:
    assert "= MmapedDict(filename)" in getsource(values.MultiProcessValue)
    assert "self._m = mmap.mmap(self._f.fileno(), self._capacity)" in getsource(mmap_dict.MmapedDict._init_value)
    assert "'{}_{}.db'.format(file_prefix, pid['value'])" in getsource(values.MultiProcessValue)


def test_waitress_asks_for_the_file_that_we_replace() -> None:
    assert "self.newfile()" in getsource(buffers.TempfileBasedBuffer.__init__)


def test_waitress_builds_the_headers_of_an_answer_where_we_end_its_connection() -> None:
    assert "self.build_response_header()" in getsource(task.Task.write)
    assert "wrote_header" in getsource(task.Task.set_close_on_finish)
