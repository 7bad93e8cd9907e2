"""File managers, run in a screen that nobody sees. Agents and holders are those of Tests/Interop."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "../Interop"), os.path.join(ROOT, "packaging/file-managers")]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if outcome.get_result().failed:
        for node in (item, item.parent, item.session):
            node.has_failed = True


@pytest.fixture(scope="module")
def module_lab(request):
    from harness import Lab

    lab = Lab()
    yield lab
    lab.close(keep=getattr(request.node, "has_failed", False))
