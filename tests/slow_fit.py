"""A fit that takes longer than any test. In a file of its own: processes that fit import it by name."""

import time


def slow_fit(*_points: object, **_settings: object) -> None:
    time.sleep(600)
