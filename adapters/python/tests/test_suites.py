"""The DLPack tests of numpy and pyarrow, as their wheels ship them, with our tensors in between.

Each suite runs in a process of its own, with a plugin that puts us into its way; the files themselves stay untouched. What
does not apply is listed with the reason, and has to fail: a test that begins to pass is taken off the list.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

# Test, or one of its cases: why it cannot pass with a `dlbridge.Tensor` in between.
NUMPY = {
    "TestDLPack::test_dunder_dlpack_stream": "numpy raises RuntimeError for a stream, we raise ValueError",
    "TestDLPack::test_dunder_dlpack_copy": "numpy raises ValueError if `copy` is an array, we raise TypeError",
}
PYARROW = {
    "test_from_dlpack_no_dlpack_method": "pyarrow raises AttributeError for an object without __dlpack__, we raise TypeError",
}


def outcomes(module, plugin):
    """The outcome of every test of a module, with a plugin of this folder."""
    here = pathlib.Path(__file__).parent
    path = os.pathsep.join([str(here / "suites"), os.environ["PYTHONPATH"]])
    command = [sys.executable, "-m", "pytest", "-p", plugin, "-p", "no:cacheprovider", "-rA", "--tb=short", "--pyargs", module]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=600)
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S*?::(.+?)(?: - .*)?$", done.stdout, re.M)
    return {name: outcome for outcome, name in found}, done.stdout[-30_000:] + done.stderr


@pytest.mark.parametrize(
    "module, plugin, count, exceptions",
    [("numpy._core.tests.test_dlpack", "numpy_through_us", 60, NUMPY), ("pyarrow.tests.test_dlpack", "pyarrow_through_us", 60, PYARROW)],
    ids=["numpy", "pyarrow"],
)
def test_the_suite_passes_through_us(module, plugin, count, exceptions):
    found, output = outcomes(module, plugin)
    failed = {name for name, outcome in found.items() if outcome != "PASSED"}
    assert len(found) >= count and failed == set(exceptions), output
