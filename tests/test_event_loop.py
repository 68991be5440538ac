"""The event loop goes on whatever becomes of a connection meanwhile."""

from dashboard.web.connections import EventLoop


def test_a_connection_that_a_thread_names_after_it_was_closed_is_ignored() -> None:
    loop = EventLoop()
    loop.forget(25)
    loop.change(25)  # the thread that answered had not heard that it was closed
    loop.turn(0)
    loop.turn(0)
    assert loop._changed == set()
    loop.close()
