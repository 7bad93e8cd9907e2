import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Interop"))

import netlab  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 10 s")
    config.addinivalue_line("markers", "syncthings_alone: judges the laboratory, not synctrain")


def pytest_collection_modifyitems(items):
    """Without root or the servers these tests cannot run; with $NETWORK_LAB=required that is a failure, not a skip."""
    reason = "needs root" if os.geteuid() != 0 else ""
    if missing := netlab.missing_programs():
        reason = f"needs {' '.join(missing)}"
    if reason and os.environ.get("NETWORK_LAB") == "required":
        pytest.exit(f"the laboratory of networks {reason}", 2)
    for item in items:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if outcome.get_result().failed:
        item.has_failed = True


@pytest.fixture
def network(request):
    """Makes laboratories; they end with the test. `lab = network(nat_a="symmetric")`"""
    labs = []

    def make(**options):
        labs.append(netlab.NetworkLab(**options))
        return labs[-1]
    yield make
    for lab in labs:
        lab.close(keep=getattr(request.node, "has_failed", False))


@pytest.fixture(scope="session", autouse=True)
def _path():
    """Debian keeps nft and miniupnpd where users do not look."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    assert shutil.which("ip")
    yield
