"""numpy and torch around models of candle and burn, all on the same memory."""

import numpy as np
import torch
import two_models


def address(array):
    return array.data_ptr() if isinstance(array, torch.Tensor) else array.ctypes.data


x = np.random.default_rng(0).standard_normal((256, 64), np.float32)

layer = two_models.CandleLayer(64, 8)
output, copied = layer.forward(x)
print(f"candle computed {output} on numpy's array, which was {'copied' if copied else 'shared'}")
y, z = np.from_dlpack(output), torch.from_dlpack(output)
print(f"numpy reads it at {address(y):#x}, torch at {address(z):#x}")
assert address(y) == address(z) == output.data_ptr and not copied

weight = np.from_dlpack(layer.weight())
np.testing.assert_allclose(y, np.maximum(x @ weight, 0), rtol=1e-4, atol=1e-4)
print(f"the weights are shared with candle, so numpy may {'write' if weight.flags.writeable else 'only read'} them")
assert not weight.flags.writeable and address(weight) == layer.weight().data_ptr

for source in (y, z):
    probabilities = torch.from_dlpack(two_models.burn_softmax(source))
    torch.testing.assert_close(probabilities, torch.softmax(torch.from_dlpack(output), 1))
print(f"burn computed softmax on candle's result, which torch checked: rows sum to {probabilities.sum(1)[0]:.3f}")

zeros = two_models.candle_zeros(2, 3, torch.bfloat16, torch.device("cpu"))
print(f"candle made {zeros}, because torch's dtype said so; torch sees {torch.from_dlpack(zeros).dtype}")
assert torch.from_dlpack(zeros).dtype == torch.bfloat16
