// What the Rust side needs of libtorch and tch does not offer: metadata without side effects, a handle to a storage,
// and tensors over foreign memory.
//
// Every function catches all exceptions and hands their text over in `*error` (freed by `dlbridge_free`); it then
// returns false. Nothing is validated here: the Rust side has checked every number, because libtorch's own checks
// throw inside `noexcept` functions, which aborts the process.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace {

// The numbers of `c10::ScalarType` that the Rust side has in its table.
static_assert(static_cast<int>(c10::ScalarType::Byte) == 0 && static_cast<int>(c10::ScalarType::Char) == 1);
static_assert(static_cast<int>(c10::ScalarType::Short) == 2 && static_cast<int>(c10::ScalarType::Int) == 3);
static_assert(static_cast<int>(c10::ScalarType::Long) == 4 && static_cast<int>(c10::ScalarType::Half) == 5);
static_assert(static_cast<int>(c10::ScalarType::Float) == 6 && static_cast<int>(c10::ScalarType::Double) == 7);
static_assert(static_cast<int>(c10::ScalarType::ComplexHalf) == 8 && static_cast<int>(c10::ScalarType::ComplexFloat) == 9);
static_assert(static_cast<int>(c10::ScalarType::ComplexDouble) == 10 && static_cast<int>(c10::ScalarType::Bool) == 11);
static_assert(static_cast<int>(c10::ScalarType::BFloat16) == 15);
static_assert(static_cast<int>(c10::ScalarType::Float8_e5m2) == 23 && static_cast<int>(c10::ScalarType::Float8_e4m3fn) == 24);
static_assert(static_cast<int>(c10::ScalarType::Float8_e5m2fnuz) == 25 && static_cast<int>(c10::ScalarType::Float8_e4m3fnuz) == 26);
static_assert(static_cast<int>(c10::ScalarType::UInt16) == 27 && static_cast<int>(c10::ScalarType::UInt32) == 28);
static_assert(static_cast<int>(c10::ScalarType::UInt64) == 29 && static_cast<int>(c10::ScalarType::Float8_e8m0fnu) == 44);
static_assert(static_cast<int>(c10::ScalarType::Float4_e2m1fn_x2) == 45);
static_assert(static_cast<int>(c10::DeviceType::CPU) == 0 && static_cast<int>(c10::DeviceType::CUDA) == 1);

// The head of a `DLManagedTensorVersioned`, which is the same in all versions: enough to let go of it.
struct Managed {
  uint32_t version[2];
  void* manager_ctx;
  void (*deleter)(Managed* self);
};

void release(void* managed) {
  auto* m = static_cast<Managed*>(managed);
  if (m->deleter) m->deleter(m);
}

// The same under another address: by its deleter a sealed storage is recognised. The store keeps linkers from folding
// the two functions into one.
volatile bool released_sealed = false;
void release_sealed(void* managed) {
  released_sealed = true;
  release(managed);
}

// Whether `t` is the only way to its storage. A view of a tensor keeps that tensor alive for autograd, and with it one
// more reference to the storage; if nobody else holds the base, both go together.
bool is_unique(const at::Tensor& t) {
  if (t.use_count() != 1) return false;
  const size_t uses = t.storage().use_count();
  if (uses == 1) return true;
  if (uses != 2 || !t.is_view()) return false;
  const auto& base = t._base();
  return base.use_count() == 1 && base.has_storage() && base.storage().is_alias_of(t.storage());
}

bool is_sealed(const c10::Storage& storage) {
  return storage.data_ptr().get_deleter() == &release_sealed;
}

[[noreturn]] void refuse_write(c10::StorageImpl*) {
  TORCH_CHECK(
      false,
      "this tensor shares read-only memory through dlbridge and cannot be written (nor its data pointer be taken for "
      "writing): copy it first, or ask for a plain tensor with `convert`");
}

template <class Storage, class = void>
struct has_materializer : std::false_type {};
template <class Storage>
struct has_materializer<Storage, std::void_t<decltype(std::declval<Storage&>().set_materializer(&refuse_write))>>
    : std::true_type {};

// Makes libtorch itself refuse every mutable access to the storage, through whatever tensor. Newer versions have a
// hook, which lets us say why; older ones a flag with a message of its own.
template <class Storage>
void seal(Storage& storage) {
  if constexpr (has_materializer<Storage>::value) {
    storage.set_materializer(&refuse_write);
  } else {
    storage.set_throw_on_mutable_data_ptr();
  }
}

c10::Device device_of(int32_t type, int32_t index) {
  return type == 0 ? c10::Device(c10::kCPU)
                   : c10::Device(static_cast<c10::DeviceType>(type), static_cast<c10::DeviceIndex>(index));
}

template <class Body>
bool guarded(char** error, Body&& body) noexcept {
  try {
    body();
    return true;
  } catch (const c10::Error& e) {
    *error = strdup(e.what_without_backtrace());
  } catch (const std::exception& e) {
    *error = strdup(e.what());
  } catch (...) {
    *error = strdup("an exception of unknown type");
  }
  return false;
}

}  // namespace

extern "C" {

// Mirrored by `Info` in shim.rs.
struct DlbridgeInfo {
  const void* data;
  const int64_t* shape;
  const int64_t* strides;
  int64_t ndim;
  const void* storage_data;
  size_t storage_bytes;
  int32_t scalar_type;
  int32_t device_type;
  int32_t device_index;
  uint32_t flags;
};

enum : uint32_t {
  kUndefined = 1,
  kNotStrided = 2,
  kQuantized = 4,
  kConj = 8,
  kNeg = 16,
  kZeroTensor = 32,
  kRequiresGrad = 64,
  kNoStorage = 128,
  kSealed = 256,
  kUnique = 512,
};

// What `t` is. `shape` and `strides` point into it. Fields behind `flags` that name a reason to stop are zero.
bool dlbridge_describe(const at::Tensor* t, DlbridgeInfo* info, char** error) {
  *info = DlbridgeInfo{};
  if (!t->defined()) {
    info->flags = kUndefined;
    return true;
  }
  return guarded(error, [&] {
    info->scalar_type = static_cast<int32_t>(t->scalar_type());
    info->device_type = static_cast<int32_t>(t->device().type());
    info->device_index = t->device().index();
    info->flags = (t->layout() != at::kStrided ? kNotStrided : 0) | (t->is_quantized() ? kQuantized : 0) |
        (t->is_conj() ? kConj : 0) | (t->is_neg() ? kNeg : 0) | (t->_is_zerotensor() ? kZeroTensor : 0) |
        (t->requires_grad() ? kRequiresGrad : 0) | (t->has_storage() ? 0 : kNoStorage);
    if (info->flags & (kNotStrided | kNoStorage)) return;
    const c10::Storage& storage = t->storage();
    if (is_sealed(storage)) info->flags |= kSealed;
    info->ndim = t->dim();
    info->shape = t->sizes().data();
    info->strides = t->strides().data();
    info->data = t->const_data_ptr();
    info->storage_data = storage.data();
    info->storage_bytes = storage.nbytes();
    if (is_unique(*t)) info->flags |= kUnique;
  });
}

// A new reference to the storage of `t`. With `lock`, the storage will never be resized again.
void* dlbridge_retain_storage(const at::Tensor* t, bool lock) {
  c10::Storage storage = t->storage();
  if (lock) storage.unsafeGetStorageImpl()->set_resizable(false);
  return storage.unsafeReleaseStorageImpl();
}

void dlbridge_release_storage(void* storage) {
  c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl*>(storage));
}

// A tensor over foreign memory. Takes over `managed`: its deleter runs once, also on failure.
bool dlbridge_import(
    void* managed,
    void* data,
    size_t bytes,
    const int64_t* shape,
    const int64_t* strides,
    int64_t ndim,
    int32_t scalar_type,
    int32_t device_type,
    int32_t device_index,
    bool sealed,
    at::Tensor** out,
    char** error) {
  const auto device = device_of(device_type, device_index);
  // From here on `managed` is let go of exactly once, also if something below throws.
  c10::DataPtr memory(data, managed, sealed ? &release_sealed : &release, device);
  return guarded(error, [&] {
    // A writable tensor may grow: libtorch then moves it to memory of its own and lets go of the foreign one.
    const bool resizable = !sealed && device.is_cpu();
    auto storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(),
        c10::SymInt(static_cast<int64_t>(bytes)),
        std::move(memory),
        resizable ? c10::GetAllocator(c10::kCPU) : nullptr,
        resizable);
    if (sealed) seal(*storage);
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(std::move(storage)),
        device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA,
        c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(scalar_type)));
    const size_t n = static_cast<size_t>(ndim);
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef(shape, n), at::IntArrayRef(strides, n));
    *out = new at::Tensor(std::move(tensor));
  });
}

// The elements of `t` written to row-major host memory, whatever the device, lazy bits resolved.
bool dlbridge_copy_to_host(const at::Tensor* t, void* target, char** error) {
  return guarded(error, [&] {
    at::Tensor to = at::from_blob(target, t->sizes(), at::TensorOptions().dtype(t->scalar_type()));
    to.copy_(*t);
  });
}

// A tensor of libtorch's own with a copy of memory on a device.
bool dlbridge_clone(
    void* data,
    const int64_t* shape,
    const int64_t* strides,
    int64_t ndim,
    int32_t scalar_type,
    int32_t device_type,
    int32_t device_index,
    bool sealed,
    at::Tensor** out,
    char** error) {
  return guarded(error, [&] {
    const auto device = device_of(device_type, device_index);
    const size_t n = static_cast<size_t>(ndim);
    auto options = at::TensorOptions().dtype(static_cast<c10::ScalarType>(scalar_type)).device(device);
    at::Tensor from = at::from_blob(data, at::IntArrayRef(shape, n), at::IntArrayRef(strides, n), options);
    at::Tensor tensor = from.clone(at::MemoryFormat::Contiguous);
    if (sealed) seal(*tensor.storage().unsafeGetStorageImpl());
    *out = new at::Tensor(std::move(tensor));
  });
}

void dlbridge_free(char* text) {
  std::free(text);
}
}
