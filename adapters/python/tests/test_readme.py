"""What the READMEs show runs, and so do the stubs' claims about names."""

import importlib.metadata
import pathlib
import re

import dlbridge
import pytest

ADAPTER = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize("readme", [ADAPTER / "README.md", ADAPTER.parent.parent / "README.md"], ids=["adapter", "root"])
def test_python_in_the_readme_runs(readme):
    blocks = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.M | re.S)
    assert blocks
    for block in blocks:
        names = {}
        exec(block, names)
        assert isinstance(names["tensor"], dlbridge.Tensor)


def test_the_module_has_just_the_names_that_it_documents():
    assert sorted(dlbridge.__all__) == ["DType", "Device", "Tensor", "__version__", "device", "dtype", "from_dlpack"]
    assert dlbridge.__doc__ and all(getattr(dlbridge, name).__doc__ for name in dlbridge.__all__)


def test_the_version_is_that_of_the_wheel():
    assert dlbridge.__version__ == importlib.metadata.version("dlbridge")
