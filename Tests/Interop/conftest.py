import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import syncthing  # noqa: E402
from harness import Lab, copy_documentation, make_odd_tree  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: waits longer than CI may; `make mount-model` runs it")


def pytest_report_header():
    try:
        return syncthing.describe()
    except (OSError, ValueError) as error:
        return f"no Syncthing: {error}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for node in (item, item.parent, item.session):
            node.has_failed = True


@pytest.fixture
def lab(request):
    """A laboratory of this test's own."""
    lab = Lab()
    yield lab
    lab.close(keep=getattr(request.node, "has_failed", False))


@pytest.fixture(scope="module")
def module_lab(request):
    """A laboratory that the tests of a module share."""
    lab = Lab()
    yield lab
    lab.close(keep=getattr(request.node, "has_failed", False))


@pytest.fixture(scope="module")
def nodes(module_lab):
    """A laboratory, a real node and an agent that know each other."""
    node, agent = module_lab.syncthing(), module_lab.agent()
    module_lab.introduce(agent, node)
    return module_lab, node, agent


@pytest.fixture(scope="session")
def documents(tmp_path_factory):
    """A tree of some thousand real files and odd names; copy it before changing it."""
    root = tmp_path_factory.mktemp("documents")
    copy_documentation(root)
    make_odd_tree(root)
    yield str(root)
    shutil.rmtree(root, ignore_errors=True)
