"""The cost of an exchange of 1,024 floats, as ratios to numpy's own and to tvm-ffi's, measured in turns in one run."""

import statistics
import time

import dlbridge
import numpy as np
import torch
import tvm_ffi

ROUNDS, CALLS = 300, 300

array = np.arange(1024, dtype=np.float32)
ours, torchs, tvms = dlbridge.from_dlpack(array), torch.from_numpy(array), tvm_ffi.from_dlpack(array)

CASES = {
    "np.from_dlpack(np_array)": lambda: np.from_dlpack(array),
    "dlbridge.from_dlpack(np_array)": lambda: dlbridge.from_dlpack(array),
    "np.from_dlpack(dlbridge_tensor)": lambda: np.from_dlpack(ours),
    "torch.from_dlpack(np_array)": lambda: torch.from_dlpack(array),
    "torch.from_dlpack(dlbridge_tensor)": lambda: torch.from_dlpack(ours),
    "tvm_ffi.from_dlpack(np_array)": lambda: tvm_ffi.from_dlpack(array),
    "C API: tvm_ffi.from_dlpack(dlbridge_tensor)": lambda: tvm_ffi.from_dlpack(ours),
    "C API: tvm_ffi.from_dlpack(torch_tensor)": lambda: tvm_ffi.from_dlpack(torchs),
    "C API: dlbridge.from_dlpack(dlbridge_tensor)": lambda: dlbridge.from_dlpack(ours),
    "C API: dlbridge.from_dlpack(torch_tensor)": lambda: dlbridge.from_dlpack(torchs),
    "dlbridge.from_dlpack(tvm_tensor)": lambda: dlbridge.from_dlpack(tvms),
}
NUMPY, TVM, TVM_C = CASES["np.from_dlpack(np_array)"], CASES["tvm_ffi.from_dlpack(np_array)"], CASES["C API: tvm_ffi.from_dlpack(torch_tensor)"]


def nanoseconds(call):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS


rounds = [{call: nanoseconds(call) for call in CASES.values()} for _ in range(ROUNDS + 10)][10:]
print("| | ns | × numpy's own | × tvm-ffi's own | × tvm-ffi's C API |")
print("|---|---:|---:|---:|---:|")
for name, call in CASES.items():
    cells = [f"{statistics.median(times[call] for times in rounds):.0f}"]
    cells += [f"{statistics.median(times[call] / times[base] for times in rounds):.2f}" for base in (NUMPY, TVM, TVM_C)]
    print(f"| `{name}` | {' | '.join(cells)} |")
