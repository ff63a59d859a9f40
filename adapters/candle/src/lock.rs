//! The read locks that exports hold: one for each storage, however many exports it has.
//!
//! candle keeps a storage behind a lock. `storage_and_layout` waits behind a writer that waits for its turn, and such a
//! writer may wait for an export to go. So nothing here asks for a lock in that way while an export of the same storage
//! is alive: reading for a moment goes through a custom operation, to which candle gives the storage even while a
//! writer waits (axiom *recursion*), and a further export shares the lock of those before it. The first export asks as
//! every reader of candle's does.

use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, ptr};

use candle_core::{CpuStorage, CustomOp1, Layout, Shape, StorageRef, Tensor as CandleTensor};
use dlbridge_core::{Error, Interchange};
use parking_lot::{Condvar, Mutex};

use crate::NAME;

/// Calls `look` with the storage of a tensor on the CPU, which nobody writes meanwhile. Waits for a write that has
/// begun, but not for one that waits itself.
///
/// # Errors
/// [`Error::UnsupportedDevice`] for a tensor on another device, and what `look` returns.
pub(crate) fn peek<R>(
    tensor: &CandleTensor,
    look: impl FnOnce(&CpuStorage, &Layout) -> Result<R, Error>,
) -> Result<R, Error> {
    struct Look<F, R>(Cell<Option<F>>, Cell<Option<R>>);
    impl<F: FnOnce(&CpuStorage, &Layout) -> R, R> CustomOp1 for Look<F, R> {
        fn name(&self) -> &'static str {
            "look at the storage"
        }

        fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
            self.1.set(self.0.take().map(|look| look(storage, layout)));
            // There is no result for candle. An error is the answer that costs it nothing.
            Err(candle_core::Error::Msg(String::new()))
        }
    }
    if !tensor.device().is_cpu() {
        return Err(Error::UnsupportedDevice { framework: NAME, device: tensor.device().to_dlpack()? });
    }
    let op = Look(Cell::new(Some(look)), Cell::new(None));
    _ = tensor.apply_op1_no_bwd(&op);
    op.1.take().unwrap_or(Err(Error::Inexpressible { framework: NAME, what: "storage of another device" }))
}

/// A share of the read lock of a storage: as long as there is one, candle does not write the storage.
pub(crate) struct Lock {
    /// The address of the storage.
    storage: usize,
}

enum Held {
    /// Somebody is asking for the lock just now.
    Pending,
    /// How many shares of the lock there are.
    Shared { shares: usize, _guard: StorageRef<'static> },
}

/// What is held, by the address of the storage. Whoever has a share keeps the storage alive, so that no other storage
/// has its address.
static HELD: Mutex<Addresses<Held>> = Mutex::new(HashMap::with_hasher(BuildHasherDefault::new()));
/// Somebody who was asking for a lock has it.
static ARRIVED: Condvar = Condvar::new();

impl Lock {
    /// The lock of the storage of `tensor`, which is at this address.
    ///
    /// # Safety
    /// The caller keeps `tensor`, or a tensor of the same storage, until the lock is dropped.
    pub(crate) unsafe fn hold(tensor: &CandleTensor, storage: usize) -> Self {
        let mut held = HELD.lock();
        loop {
            match held.entry(storage) {
                Entry::Occupied(mut entry) => {
                    if let Held::Shared { shares, .. } = entry.get_mut() {
                        *shares += 1;
                        return Self { storage };
                    }
                }
                Entry::Vacant(entry) => {
                    entry.insert(Held::Pending);
                    break;
                }
            }
            ARRIVED.wait(&mut held);
        }
        drop(held);
        // No export holds this lock, and none will meanwhile, so that no writer waits for one of them. Writers that
        // wait for something else are waited for, as by every reader of candle's.
        let (guard, _) = tensor.storage_and_layout();
        // SAFETY: only the lifetime changes. By axiom *place* the lock lives in an allocation that the caller keeps.
        let guard = unsafe { mem::transmute::<StorageRef<'_>, StorageRef<'static>>(guard) };
        HELD.lock().insert(storage, Held::Shared { shares: 1, _guard: guard });
        ARRIVED.notify_all();
        Self { storage }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        let Entry::Occupied(mut entry) = held.entry(self.storage) else { return };
        let Held::Shared { shares, .. } = entry.get_mut() else { return };
        *shares -= 1;
        if *shares == 0 {
            let last = entry.remove();
            // Writers that wait go on as soon as the lock is dropped.
            drop(held);
            drop(last);
        }
    }
}

/// The sealed storages, by the address of the foreign block that they have.
static SEALED: Mutex<Addresses<SealedBlock>> = Mutex::new(HashMap::with_hasher(BuildHasherDefault::new()));

/// How many seals there are, of all blocks.
static SEALS: AtomicUsize = AtomicUsize::new(0);

/// A block over which there are sealed storages.
#[derive(Default)]
struct SealedBlock {
    seals: usize,
    /// The addresses of the storages, and of some that are gone.
    storages: HashSet<usize, BuildHasherDefault<Address>>,
}

/// A foreign block that candle holds, and never writes. It is kept with the read-only tensor that owns the block, and
/// goes when a vector over the block is freed.
///
/// Of several storages over one block, it cannot be told which one has gone. Therefore all are taken for sealed until
/// the last seal has gone. No other storage is taken for one of them: while there is a seal, the tensor beside it keeps
/// the block, and promises that nobody writes it, so that a storage that may be written and has the block as well is
/// older than the seal, and has an address of its own.
///
/// If others than candle adopt the block, too, to read it, the seal may go with one of their vectors. The storage is
/// then exported as any other, under its lock, which is never free for writers.
pub(crate) struct Seal {
    block: usize,
}

impl Seal {
    /// Of a block at this address, which becomes a vector by adoption.
    pub(crate) fn new(block: *const u8) -> Self {
        let block = block.addr();
        SEALS.fetch_add(1, Ordering::Relaxed);
        SEALED.lock().entry(block).or_default().seals += 1;
        Self { block }
    }

    /// Closes the storage of `tensor`, whose vector is over such a block, and which nobody else has yet: a read lock is
    /// taken, and not given back.
    ///
    /// # Errors
    /// As [`peek`].
    pub(crate) fn close(tensor: &CandleTensor) -> Result<(), Error> {
        mem::forget(tensor.storage_and_layout().0);
        peek(tensor, |storage, _| {
            // Without an entry there is no seal that would remove it again.
            if let Some(block) = SEALED.lock().get_mut(&bytes(storage).0.addr()) {
                block.storages.insert(ptr::from_ref(storage).addr());
            }
            Ok(())
        })
    }

    /// Whether a storage is closed.
    pub(crate) fn is_on(storage: &CpuStorage) -> bool {
        // Whoever has a sealed storage got it after its seal was counted.
        if SEALS.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let sealed = SEALED.lock();
        let block = sealed.get(&bytes(storage).0.addr());
        block.is_some_and(|block| block.storages.contains(&ptr::from_ref(storage).addr()))
    }
}

impl Drop for Seal {
    fn drop(&mut self) {
        let mut sealed = SEALED.lock();
        let Entry::Occupied(mut entry) = sealed.entry(self.block) else { return };
        entry.get_mut().seals -= 1;
        if entry.get().seals == 0 {
            entry.remove();
        }
        SEALS.fetch_sub(1, Ordering::Relaxed);
    }
}

type Addresses<V> = HashMap<usize, V, BuildHasherDefault<Address>>;

/// Addresses differ in their middle bits, which a multiplication brings to both ends.
#[derive(Default)]
struct Address(u64);

impl Hasher for Address {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// Where a storage begins, and its size in bytes.
pub(crate) fn bytes(storage: &CpuStorage) -> (*const u8, usize) {
    fn of<T>(elements: &[T]) -> (*const u8, usize) {
        (elements.as_ptr().cast(), size_of_val(elements))
    }
    match storage {
        CpuStorage::U8(elements) => of(elements),
        CpuStorage::U32(elements) => of(elements),
        CpuStorage::I16(elements) => of(elements),
        CpuStorage::I32(elements) => of(elements),
        CpuStorage::I64(elements) => of(elements),
        CpuStorage::BF16(elements) => of(elements),
        CpuStorage::F16(elements) => of(elements),
        CpuStorage::F32(elements) => of(elements),
        CpuStorage::F64(elements) => of(elements),
        CpuStorage::F8E4M3(elements) => of(elements),
        CpuStorage::F6E2M3(bytes) => of(bytes),
        CpuStorage::F6E3M2(bytes) => of(bytes),
        CpuStorage::F4(bytes) => of(bytes),
        CpuStorage::F8E8M0(bytes) => of(bytes),
    }
}
