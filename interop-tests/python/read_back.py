"""Prints what pyarrow finds in an Arrow IPC file, one JSON object a column: name, type, shape, elements.

Every column is read in each way that pyarrow has for its type, and all ways have to agree.
"""

import json
import sys

import numpy
import pyarrow
import pyarrow.ipc


def ways(column):
    """The column as numpy arrays, one for each way to read it."""
    if isinstance(column.type, pyarrow.FixedShapeTensorType):
        shape = column.type.shape
        order = column.type.permutation or list(range(len(shape)))
        # As the format says it: axis i of the tensor is axis order[i] of the memory.
        in_memory = column.storage.flatten().to_numpy().reshape([len(column), *shape])
        yield in_memory.transpose([0, *(axis + 1 for axis in order)])
        # pyarrow's own ways (26.0.1) mix up a permutation with its inverse, and have no booleans of one byte.
        is_bool8 = isinstance(column.type.value_type, pyarrow.BaseExtensionType)
        if all(order[order[axis]] == axis for axis in order) and not is_bool8:
            yield column.to_numpy_ndarray()
            tensor = column.to_tensor()
            assert isinstance(tensor, pyarrow.Tensor)
            yield tensor.to_numpy()
    elif isinstance(column.type, pyarrow.Bool8Type):
        yield column.to_numpy(zero_copy_only=True)
        yield column.storage.to_numpy().astype(bool)
    else:
        yield numpy.array(column.to_pylist(), dtype=leaf(column.type).to_pandas_dtype())
        values, shape = column, [len(column)]
        while pyarrow.types.is_fixed_size_list(values.type):
            shape.append(values.type.list_size)
            values = values.flatten()
        yield values.to_numpy(zero_copy_only=not pyarrow.types.is_boolean(values.type)).reshape(shape)


def leaf(kind):
    while pyarrow.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return kind


with pyarrow.memory_map(sys.argv[1]) as source:
    table = pyarrow.ipc.open_file(source).read_all()
table.validate(full=True)
for field, column in zip(table.schema, table.columns):
    column = column.combine_chunks()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.chunk(0)
    found, *others = ways(column)
    for other in others:
        assert found.dtype == other.dtype and found.shape == other.shape, (field, found.dtype, other.dtype)
        assert (found == other).all(), field
    elements = [float(element) for element in found.ravel().tolist()]
    print(json.dumps({
        "name": field.name, "type": str(leaf(field.type)), "dtype": str(found.dtype), "shape": found.shape,
        "elements": elements,
    }))
