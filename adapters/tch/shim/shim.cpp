// What the Rust side needs of libtorch and tch does not offer: metadata without side effects, a handle to a storage,
// and tensors over foreign memory.
//
// No exception leaves this file but the refusal to write, which libtorch's callers expect: every function that Rust or
// a deleter calls is `noexcept`, and an assertion at the end checks that. Functions with an `error` catch all
// exceptions: they then put the text into `*error`, which the caller frees by `dlbridge_free`, and return false.
// Nothing is validated here: the Rust side has checked every number, because libtorch's own checks throw inside
// `noexcept` functions, which aborts the process.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/COW.h>
#include <c10/util/SmallVector.h>
#include <c10/util/safe_numerics.h>

#include <algorithm>
#include <atomic>
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

// The first fields of a `DLManagedTensorVersioned`, which are the same in all versions: enough to call its deleter.
struct Managed {
  uint32_t version[2];
  void* manager_ctx;
  void (*deleter)(Managed* self);
};

void release(void* managed) noexcept {
  auto* m = static_cast<Managed*>(managed);
  if (m->deleter) m->deleter(m);
}

// The owner of the memory of a sealed storage. It has a reference count of its own, because a `resize_` moves the
// storage elsewhere and releases its memory, which exports and unsealed storages may still use.
struct Sealed {
  std::atomic<size_t> uses;
  void* managed;
};

void release_sealed(void* context) noexcept {
  auto* sealed = static_cast<Sealed*>(context);
  if (sealed->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    release(sealed->managed);
    delete sealed;
  }
}

// Whether the memory came in to be read only. That outlives the seal: a storage that has been unsealed has it, too.
bool is_sealed(const c10::Storage& storage) {
  return storage.data_ptr().get_deleter() == &release_sealed;
}

// The owner of a sealed storage's memory, with one more use.
Sealed* use_sealed(const c10::Storage& storage) {
  auto* owner = static_cast<Sealed*>(storage.data_ptr().get_context());
  owner->uses.fetch_add(1, std::memory_order_relaxed);
  return owner;
}

// A storage over foreign memory. On the CPU it may grow: libtorch then moves it to memory of its own and lets go of the
// foreign one.
c10::intrusive_ptr<c10::StorageImpl> make_storage(c10::DataPtr data, int64_t bytes) {
  const bool resizable = data.device().is_cpu();
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      c10::SymInt(bytes),
      std::move(data),
      resizable ? c10::GetAllocator(c10::kCPU) : nullptr,
      resizable);
}

// Whether `t` is the only way to its memory.
//
// The memory must be that of a plain allocation, or have come in here: a copy-on-write storage, a mapped file and the
// like may be shared although the storage is not. A view of a tensor keeps that tensor alive for autograd, and with it
// one more reference to the storage; if nobody else holds the base, both go together. The count of the storage is read
// last: while `t` and its base have one handle each, nobody can make a new reference from them.
bool is_unique(const at::Tensor& t) {
  const c10::Storage& storage = t.storage();
  const auto& impl = *storage.unsafeGetStorageImpl();
  if (storage.data_ptr().get_deleter() != &release && !c10::impl::cow::has_simple_data_ptr(impl)) return false;
  if (t.use_count() != 1) return false;
  size_t expected = 1;
  if (t.is_view()) {
    const auto& base = t._base();
    if (base.use_count() != 1 || !base.has_storage()) return false;
    if (base.storage().is_alias_of(storage)) expected = 2;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool unique = static_cast<size_t>(storage.use_count()) == expected;
  std::atomic_thread_fence(std::memory_order_acquire);
  return unique;
}

// Bytes of the storage, from its beginning, that `t` reaches. False if some number overflows; empty axes count as 1.
bool needed_bytes(const c10::TensorImpl& t, uint64_t* needed) {
  const uint64_t itemsize = t.itemsize();
  const auto offset = static_cast<uint64_t>(t.storage_offset());
  uint64_t reached = 0; // elements from the beginning of the storage
  const auto fits = [&] {
    return !c10::mul_overflows(reached, itemsize, needed) && *needed <= INT64_MAX;
  };
  // The quick way: libtorch keeps the number of elements, and a contiguous tensor reaches no further.
  if (t.is_contiguous() && t.numel() > 0) {
    return !c10::add_overflows(static_cast<uint64_t>(t.numel()), offset, &reached) && fits();
  }
  const auto sizes = t.sizes();
  const auto strides = t.strides();
  uint64_t highest = 0, size_in_bytes = itemsize, reach = 0;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); i++) {
    const auto size = static_cast<uint64_t>(sizes[i]);
    empty |= size == 0;
    if (c10::mul_overflows(size_in_bytes, size == 0 ? 1 : size, &size_in_bytes) || size_in_bytes > INT64_MAX) return false;
    if (size < 2) continue;
    if (c10::mul_overflows(size - 1, static_cast<uint64_t>(strides[i]), &reach)) return false;
    if (c10::add_overflows(highest, reach, &highest)) return false;
  }
  if (empty) return true;
  return !c10::add_overflows(highest, 1, &reached) && !c10::add_overflows(reached, offset, &reached) && fits();
}

[[noreturn]] void refuse_write(c10::StorageImpl*) {
  TORCH_CHECK(
      false,
      "this tensor shares read-only memory through dlbridge and cannot be written, nor its data pointer be taken for "
      "writing, as some operations do that only read: give them a copy, made by `tensor.copy()` or by `convert` to a "
      "plain tensor, or see `unsealed`");
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
  uint64_t needed_bytes;
  uint64_t storage_bytes;
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
  kOverflow = 512,
  kCopyOnWrite = 1024,
};

// Memory to make a tensor over; mirrored by `Memory` in shim.rs. `strides` is NULL for a row-major tensor.
struct DlbridgeMemory {
  void* data;
  const int64_t* shape;
  const int64_t* strides;
  int64_t ndim;
  int32_t scalar_type;
  int32_t device_type;
  int32_t device_index;

  at::IntArrayRef sizes() const {
    return {shape, static_cast<size_t>(ndim)};
  }
  c10::ScalarType dtype() const {
    return static_cast<c10::ScalarType>(scalar_type);
  }
  c10::Device device() const {
    if (device_type == 0) return c10::kCPU;
    return {static_cast<c10::DeviceType>(device_type), static_cast<c10::DeviceIndex>(device_index)};
  }
};

// Describes `t`. `shape` and `strides` point into it. If `flags` say that DLPack cannot express the tensor, fields that
// were not looked at any more are zero.
bool dlbridge_describe(const at::Tensor* t, DlbridgeInfo* info, char** error) noexcept {
  *info = DlbridgeInfo{};
  if (!t->defined()) {
    info->flags = kUndefined;
    return true;
  }
  return guarded(error, [&] {
    // Where the headers define an accessor inline, it is used: a call into the library costs more than what it reads.
    const c10::TensorImpl& impl = *t->unsafeGetTensorImpl();
    const c10::Storage& storage = impl.unsafe_storage();
    const c10::Device device = impl.device();
    info->scalar_type = static_cast<int32_t>(c10::typeMetaToScalarType(impl.dtype()));
    info->device_type = static_cast<int32_t>(device.type());
    info->device_index = device.index();
    uint32_t flags = (impl.layout() != at::kStrided ? kNotStrided : 0) | (impl.requires_grad() ? kRequiresGrad : 0) |
        (storage ? 0 : kNoStorage);
    constexpr c10::DispatchKeySet special(
        {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor});
    if (impl.key_set().has_any(special | c10::DispatchKeySet(c10::DispatchKey::Quantized))) {
      flags |= (t->is_quantized() ? kQuantized : 0) | (t->is_conj() ? kConj : 0) | (t->is_neg() ? kNeg : 0) |
          (t->_is_zerotensor() ? kZeroTensor : 0);
    }
    if (!(flags & (kNotStrided | kNoStorage))) {
      info->ndim = impl.dim();
      info->shape = impl.sizes().data();
      info->strides = impl.strides().data();
      info->storage_bytes = storage.nbytes();
      if (is_sealed(storage)) flags |= kSealed;
      // Only a storage whose context is not its data can be copy-on-write; only then is the library asked.
      const c10::DataPtr& data = storage.data_ptr();
      if (data.get() != data.get_context() && c10::impl::cow::is_cow_data_ptr(data)) flags |= kCopyOnWrite;
      if (!needed_bytes(impl, &info->needed_bytes)) flags |= kOverflow;
      info->data = impl.numel() == 0 ? nullptr
                                     : static_cast<const char*>(storage.data()) +
              static_cast<uint64_t>(impl.storage_offset()) * impl.itemsize();
    }
    info->flags = flags;
  });
}

// Whether `t`, a dense tensor that is not lazy, is the only way to its memory. It is not if libtorch cannot tell.
bool dlbridge_is_unique(const at::Tensor* t) noexcept {
  try {
    return is_unique(*t);
  } catch (...) {
    return false;
  }
}

// A new reference to the owner of the memory of `t`, a dense tensor: its storage, or the `Sealed` of a sealed one.
void* dlbridge_retain(const at::Tensor* t, bool sealed) noexcept {
  const c10::Storage& storage = t->unsafeGetTensorImpl()->unsafe_storage();
  if (sealed) return use_sealed(storage);
  return c10::Storage(storage).unsafeReleaseStorageImpl();
}

// Gives a reference back; `sealed` says which kind it is.
void dlbridge_release(void* owner, bool sealed) noexcept {
  if (sealed) {
    release_sealed(owner);
  } else {
    c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl*>(owner));
  }
}

// A tensor over foreign memory. Takes over `managed`: its deleter runs once, also on failure. Axes of length 1 may have
// any stride, all others have strides of 0 or more; if there are no elements, all strides are ignored.
bool dlbridge_import(
    void* managed,
    const DlbridgeMemory* memory,
    bool sealed,
    at::Tensor** out,
    char** error) noexcept {
  const auto device = memory->device();
  // From here on `managed` is let go of exactly once, also if something below throws.
  c10::DataPtr data(memory->data, managed, &release, device);
  return guarded(error, [&] {
    const auto sizes = memory->sizes();
    const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    const int64_t* strides = empty ? nullptr : memory->strides;
    // On axes of length 1, the strides are set as in a row-major tensor, as libtorch itself does: by other strides, it
    // would take the tensor for one of another memory format.
    c10::SmallVector<int64_t, 8> steps(sizes.size());
    int64_t elements = 1, extent = 1;
    bool contiguous = true;
    for (size_t i = sizes.size(); i-- > 0;) {
      steps[i] = strides && sizes[i] != 1 ? strides[i] : elements;
      contiguous = contiguous && steps[i] == elements;
      extent += (sizes[i] - 1) * steps[i];
      elements *= sizes[i];
    }
    if (empty) extent = 0;
    const auto dtype = c10::scalarTypeToTypeMeta(memory->dtype());
    if (sealed) {
      auto* owner = new Sealed{{1}, managed};
      (void)data.release_context();
      data = c10::DataPtr(memory->data, owner, &release_sealed, device);
    }
    auto storage = make_storage(std::move(data), extent * static_cast<int64_t>(dtype.itemsize()));
    if (sealed) seal(*storage);
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(std::move(storage)),
        device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA,
        dtype);
    if (contiguous) {
      tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    } else {
      tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, steps);
    }
    *out = new at::Tensor(std::move(tensor));
  });
}

// A second tensor with the elements of `t`, a dense and sealed tensor, in the same memory. It has a storage of its own,
// which is not sealed, and it is in no autograd graph.
bool dlbridge_unseal(const at::Tensor* t, at::Tensor** out, char** error) noexcept {
  return guarded(error, [&] {
    const c10::TensorImpl& impl = *t->unsafeGetTensorImpl();
    const c10::Storage& sealed = impl.unsafe_storage();
    void* const address = const_cast<void*>(sealed.data());
    c10::DataPtr data(address, use_sealed(sealed), &release_sealed, sealed.device());
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(make_storage(std::move(data), static_cast<int64_t>(sealed.nbytes()))),
        impl.key_set(),
        impl.dtype());
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(impl.sizes(), impl.strides(), impl.storage_offset());
    *out = new at::Tensor(std::move(tensor));
  });
}

// Writes the elements of `t`, whose shape is `shape`, to row-major host memory, whatever the device. Lazy elements are
// computed.
bool dlbridge_copy_to_host(
    const at::Tensor* t,
    const int64_t* shape,
    int64_t ndim,
    void* target,
    char** error) noexcept {
  return guarded(error, [&] {
    const at::IntArrayRef sizes(shape, static_cast<size_t>(ndim));
    TORCH_CHECK(t->sizes() == sizes, "the tensor was resized while it was copied");
    at::Tensor to = at::from_blob(target, sizes, at::TensorOptions().dtype(t->scalar_type()));
    to.copy_(*t);
  });
}

// A tensor of libtorch's own with a copy of memory on a device. No stride is negative.
bool dlbridge_clone(
    const DlbridgeMemory* memory,
    at::Tensor** out,
    char** error) noexcept {
  return guarded(error, [&] {
    const auto sizes = memory->sizes();
    auto options = at::TensorOptions().dtype(memory->dtype()).device(memory->device());
    at::Tensor from = memory->strides
        ? at::from_blob(memory->data, sizes, at::IntArrayRef(memory->strides, sizes.size()), options)
        : at::from_blob(memory->data, sizes, options);
    *out = new at::Tensor(from.clone(at::MemoryFormat::Contiguous));
  });
}

void dlbridge_free(char* text) noexcept {
  std::free(text);
}
}

namespace {

template <class Function>
struct is_noexcept : std::false_type {};
template <class Result, class... Arguments>
struct is_noexcept<Result (*)(Arguments...) noexcept> : std::true_type {};

template <class... Functions>
constexpr bool are_noexcept(Functions...) {
  return (is_noexcept<Functions>::value && ...);
}

}  // namespace

// Everything that Rust calls, and what libtorch calls where nothing may be thrown. A test holds this list to shim.rs.
static_assert(are_noexcept(
    &dlbridge_describe,
    &dlbridge_is_unique,
    &dlbridge_retain,
    &dlbridge_release,
    &dlbridge_import,
    &dlbridge_unseal,
    &dlbridge_copy_to_host,
    &dlbridge_clone,
    &dlbridge_free,
    &release,
    &release_sealed));
