"""numpy for the array API's own tests, with arrays that go out and come in through us.

    ARRAY_API_TESTS_MODULE=array_api_through_us pytest array_api_tests/test_dlpack.py
"""

from numpy import *  # noqa: F403
from numpy import __array_namespace_info__, __version__  # noqa: F401

import numpy_through_us

from_dlpack = numpy_through_us.from_dlpack
for _name in (*numpy_through_us.MAKERS, "full", "linspace", "eye"):
    globals()[_name] = numpy_through_us.ours(getattr(numpy_through_us.np, _name))
