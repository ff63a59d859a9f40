// Calls of libtorch's own exchange functions, to compare with. Tensors are returned to Rust and dropped there, as tch
// does it.
#include <ATen/DLConvertor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

extern "C" {

DLManagedTensorVersioned* bench_export(const at::Tensor* t) {
  return at::toDLPackVersioned(*t);
}

at::Tensor* bench_import(DLManagedTensorVersioned* managed) {
  return new at::Tensor(at::fromDLPackVersioned(managed));
}

at::Tensor* bench_from_blob(void* data, const int64_t* shape, int64_t ndim, void (*deleter)(void*)) {
  auto options = at::TensorOptions().dtype(at::kFloat);
  auto release = [deleter, data](void*) { deleter(data); };
  return new at::Tensor(at::from_blob(data, at::IntArrayRef(shape, static_cast<size_t>(ndim)), release, options));
}
}
