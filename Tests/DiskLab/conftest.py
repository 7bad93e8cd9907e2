import importlib.util
import os
import sys

INTEROP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Interop")
sys.path.insert(0, INTEROP)

# Its laboratory. Not by name: this file has the same.
_specification = importlib.util.spec_from_file_location("interop_conftest", os.path.join(INTEROP, "conftest.py"))
_interop = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(_interop)

lab, module_lab = _interop.lab, _interop.module_lab
pytest_runtest_makereport = _interop.pytest_runtest_makereport


class Instant:
    """Prints what failed at once: the machine may end before pytest does."""

    def __init__(self, config):
        self.plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report):
        if report.failed or hasattr(report, "wasxfail"):
            self.plugins.getplugin("terminalreporter").write_line(
                f"\n{report.nodeid}, {report.when}\n{report.longreprtext}\n{report.capstdout}")


def pytest_configure(config):
    config.pluginmanager.register(Instant(config))
