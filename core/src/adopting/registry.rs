//! The adopted blocks, by their address.

use alloc::boxed::Box;
use core::alloc::Layout;

use super::sync::{spin, statics, AtomicUsize, Guarded, Ordering};

/// The smallest block that is adopted, in bytes.
pub const LEAST: usize = 16 << 10;

/// A block that is adopted.
pub(super) struct Adopted {
    address: usize,
    /// What it is freed as.
    layout: Layout,
    _owner: Box<dyn Send>,
    /// The next one of the same slot, which came before this one.
    next: Option<Box<Adopted>>,
    /// The marks of those that came before, some of which may be gone.
    marks_before: usize,
}

impl Adopted {
    pub(super) fn new(address: usize, layout: Layout, owner: Box<dyn Send>) -> Box<Self> {
        Box::new(Self { address, layout, _owner: owner, next: None, marks_before: 0 })
    }

    fn mark(&self) -> usize {
        Slot::mark(hash(self.address))
    }

    fn block(&self) -> (usize, Layout) {
        (self.address, self.layout)
    }
}

/// A number of 32 bits that depends on all of another.
#[inline]
pub(super) fn hash(number: usize) -> usize {
    ((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Which blocks are adopted. The first thousand is in a small table, which stays in the cache. What comes on top goes
/// into a large one, whose pages the system gives when they are written to.
pub(super) struct Registry {
    /// How many blocks there are in both tables.
    live: AtomicUsize,
    /// How many of them are in `many`, which is not even read while there are none.
    live_in_many: AtomicUsize,
    few: Table<FEW>,
    many: Table<MANY>,
}

/// So many blocks go into the small table, which has as many slots. (Under loom, the second block is one too many.)
const FEW: usize = if cfg!(dlbridge_loom) { 1 } else { 1 << 10 };

/// The slots of the large table, 4 MiB of them on machines of 64 bits. Smaller ones have no room for as many blocks.
const MANY: usize = match () {
    _ if cfg!(dlbridge_loom) => 1,
    _ if cfg!(target_pointer_width = "64") => 1 << 18,
    _ => 1 << 15,
};

statics! {
    static REGISTRY: Registry = Registry {
        live: AtomicUsize::new(0),
        live_in_many: AtomicUsize::new(0),
        few: Table::new(),
        many: Table::new(),
    };
}

/// The registry of this process.
#[inline]
pub(super) fn registry() -> &'static Registry {
    &REGISTRY
}

impl Registry {
    /// `false` if the block is certainly not adopted. A thread that frees an adopted block has received it from the
    /// thread that adopted it, so that it sees the entry.
    #[inline]
    pub(super) fn may_have(&self, block: *mut u8) -> bool {
        if self.live.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let hash = hash(block as usize);
        self.few.may_have(hash) || self.live_in_many.load(Ordering::Relaxed) != 0 && self.many.may_have(hash)
    }

    /// Adds an entry, above those that the same block has already.
    ///
    /// An owner may keep a vector over the same block that was adopted before, and not the memory itself. So
    /// [`take`](Self::take) gives the entry that came last, and the first, which keeps the memory, when no vector is
    /// left. For this, all entries of a block are in one table: whoever adds one has locked the slot in the small
    /// table.
    pub(super) fn put(&self, adopted: Box<Adopted>) {
        let is_one_of_many = self.live.fetch_add(1, Ordering::Relaxed) >= FEW;
        let (block, hash) = (adopted.block(), hash(adopted.address));
        self.few.slot(hash).with(0, |few| {
            if few.has(block) || !is_one_of_many && self.live_in_many.load(Ordering::Relaxed) == 0 {
                return few.push(adopted);
            }
            // The one lock is held while the other is taken, in this order everywhere.
            self.many.slot(hash).with(0, |many| {
                if !is_one_of_many && !many.has(block) {
                    return few.push(adopted);
                }
                self.live_in_many.fetch_add(1, Ordering::Relaxed);
                many.push(adopted);
            });
        });
    }

    /// Takes out the last entry of a block, if it has one. Whoever frees a vector over the block finds one.
    #[cold]
    pub(super) fn take(&self, block: *mut u8, layout: Layout) -> Option<Box<Adopted>> {
        let (block, hash) = ((block as usize, layout), hash(block as usize));
        let take_of_many = || {
            if self.live_in_many.load(Ordering::Relaxed) == 0 || !self.many.may_have(hash) {
                return None;
            }
            let taken = self.many.slot(hash).with(Slot::mark(hash), |many| many.take(block))?;
            self.live_in_many.fetch_sub(1, Ordering::Relaxed);
            Some(taken)
        };
        let taken = if self.few.may_have(hash) {
            self.few.slot(hash).with(Slot::mark(hash), |few| few.take(block).or_else(take_of_many))
        } else {
            take_of_many()
        }?;
        self.live.fetch_sub(1, Ordering::Relaxed);
        Some(taken)
    }
}

/// Adopted blocks by the hash of their address. A slot does not straddle a line of the cache.
#[repr(align(64))]
struct Table<const SLOTS: usize>([Slot; SLOTS]);

impl<const SLOTS: usize> Table<SLOTS> {
    #[cfg(not(dlbridge_loom))]
    const fn new() -> Self {
        Self([const { Slot { state: AtomicUsize::new(0), first: Guarded::new(None) } }; SLOTS])
    }

    #[cfg(dlbridge_loom)]
    fn new() -> Self {
        Self(core::array::from_fn(|_| Slot { state: AtomicUsize::new(0), first: Guarded::new(None) }))
    }

    #[inline]
    fn slot(&self, hash: usize) -> &Slot {
        &self.0[hash % SLOTS]
    }

    #[inline]
    fn may_have(&self, hash: usize) -> bool {
        self.slot(hash).state.load(Ordering::Relaxed) & Slot::mark(hash) != 0
    }
}

/// The entries of a slot, while it is locked.
struct Entries<'a> {
    first: &'a mut Option<Box<Adopted>>,
    /// The marks of the entries, and perhaps of some that are gone.
    marks: &'a mut usize,
}

impl Entries<'_> {
    fn has(&self, block: (usize, Layout)) -> bool {
        let mut next = self.first.as_ref();
        while let Some(adopted) = next {
            if adopted.block() == block {
                return true;
            }
            next = adopted.next.as_ref();
        }
        false
    }

    fn push(&mut self, mut adopted: Box<Adopted>) {
        (adopted.next, adopted.marks_before) = (self.first.take(), *self.marks);
        *self.marks |= adopted.mark();
        *self.first = Some(adopted);
    }

    fn take(&mut self, block: (usize, Layout)) -> Option<Box<Adopted>> {
        let (mut link, mut marks_after) = (&mut *self.first, 0);
        while link.as_ref().is_some_and(|adopted| adopted.block() != block) {
            let adopted = link.as_mut()?;
            marks_after |= adopted.mark();
            link = &mut adopted.next;
        }
        let mut taken = link.take()?;
        *link = taken.next.take();
        *self.marks = self.first.as_ref().map_or(0, |_| marks_after | taken.marks_before);
        Some(taken)
    }
}

/// The adopted blocks whose addresses have a hash in common.
struct Slot {
    /// [`Slot::LOCKED`], and the marks of the blocks and perhaps of some that are gone, by which a free sees almost
    /// always that its block is none of them.
    state: AtomicUsize,
    // Invariant: only accessed by the thread that has locked the slot.
    first: Guarded<Option<Box<Adopted>>>,
}

// SAFETY: `with` gives access to one thread at a time, and `Adopted` is `Send`.
unsafe impl Sync for Slot {}

impl Slot {
    const LOCKED: usize = 1;

    /// The mark of blocks with this hash: one of the other bits, chosen by the part of the hash that chooses no slot.
    #[inline]
    const fn mark(hash: usize) -> usize {
        2 << ((hash >> 26) % (usize::BITS as usize - 1))
    }

    /// Runs `access` under the lock; `state` is a guess of the state. `access` must neither allocate nor free, or a
    /// thread could wait for itself.
    fn with<R>(&self, mut state: usize, access: impl FnOnce(&mut Entries<'_>) -> R) -> R {
        let lock =
            |state| self.state.compare_exchange_weak(state, state | Self::LOCKED, Ordering::Acquire, Ordering::Relaxed);
        while let Err(found) = lock(state) {
            state = found & !Self::LOCKED;
            if found != state {
                spin();
            }
        }
        // SAFETY: the invariant; this thread has locked the slot.
        let result = unsafe { self.first.with(|first| access(&mut Entries { first, marks: &mut state })) };
        self.state.store(state, Ordering::Release);
        result
    }
}

#[cfg(all(test, dlbridge_loom))]
mod tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::super::sync::{AtomicPtr, Counted};
    use super::*;

    const LAYOUT: Layout = Layout::new::<u128>();
    const BLOCK: usize = 0x1000;

    fn put(address: usize, owner: impl Send + 'static) {
        registry().put(Adopted::new(address, LAYOUT, Box::new(owner)));
    }

    fn take(address: usize) -> Option<Box<Adopted>> {
        registry().take(address as *mut u8, LAYOUT)
    }

    fn may_have(address: usize) -> bool {
        registry().may_have(address as *mut u8)
    }

    /// Two addresses other than [`BLOCK`], with its mark or without.
    fn others(have_its_mark: bool) -> (usize, usize) {
        let mark = |address| Slot::mark(hash(address));
        let mut others = (2..).map(|n| n * BLOCK).filter(|other| (mark(*other) == mark(BLOCK)) == have_its_mark);
        (others.next().expect("one of a few"), others.next().expect("one of a few"))
    }

    /// Who gets a block from another thread finds its owner, and drops it once, whatever the two do meanwhile, and
    /// whichever table the block is in.
    #[test]
    fn loom_a_block_that_is_passed_on_is_found_once() {
        for (have_its_mark, is_beyond) in [(true, false), (true, true), (false, false), (false, true)] {
            let (other, filling) = others(have_its_mark);
            let mut model = loom::model::Builder::new();
            // In the large table, where there is more to look at, all orders would be too many.
            model.preemption_bound = is_beyond.then_some(2);
            model.check(move || {
                if is_beyond {
                    put(filling, ());
                }
                let (passed, drops) = (Arc::new(AtomicPtr::new(core::ptr::null_mut())), Counted::counter());
                let taker = thread::spawn({
                    let passed = Arc::clone(&passed);
                    move || {
                        let got: *mut u8 = passed.load(Ordering::Acquire);
                        if got.is_null() {
                            return false;
                        }
                        assert!(registry().may_have(got));
                        drop(registry().take(got, LAYOUT).expect("adopted, and passed on"));
                        true
                    }
                });
                put(BLOCK, Counted::new(&drops));
                passed.store(BLOCK as *mut u8, Ordering::Release);
                // Meanwhile another block of the same slot comes and goes.
                put(other, ());
                assert!(may_have(other));
                assert!(take(other).is_some());
                let is_taken = taker.join().expect("no panic");
                assert_eq!(take(BLOCK).is_none(), is_taken);
                assert_eq!(drops.load(Ordering::Relaxed), 1);
                assert_eq!(take(filling).is_some(), is_beyond);
                assert!([BLOCK, other, filling].iter().all(|address| !may_have(*address)));
            });
        }
    }

    /// Whatever threads adopt and free over one block, the owner that came first is dropped last, in whichever table
    /// there is room.
    #[test]
    fn loom_what_keeps_the_memory_is_taken_last() {
        loom::model(|| {
            let drops = Counted::counter();
            put(BLOCK, Counted::new(&drops));
            let adopt_and_free = || {
                put(BLOCK, ());
                drop(take(BLOCK).expect("one for each"));
            };
            let thread = thread::spawn(adopt_and_free);
            adopt_and_free();
            assert_eq!(drops.load(Ordering::Relaxed), 0);
            thread.join().expect("no panic");
            assert_eq!(drops.load(Ordering::Relaxed), 0);
            drop(take(BLOCK).expect("the first"));
            assert_eq!(drops.load(Ordering::Relaxed), 1);
            assert!(!may_have(BLOCK));
        });
    }

    /// Two threads that adopt and free a block, each on its own, find one entry each, and each owner is dropped once.
    #[test]
    fn loom_a_block_that_is_adopted_twice_is_found_twice() {
        for (other, _) in [others(true), others(false)] {
            loom::model(move || {
                let (table, drops) = (Arc::new(Table::<1>::new()), Counted::counter());
                let put = |table: &Table<1>, adopted: Box<Adopted>| {
                    table.slot(hash(adopted.address)).with(0, |entries| entries.push(adopted));
                };
                let take = |table: &Table<1>, address| {
                    let hash = hash(address);
                    table.slot(hash).with(Slot::mark(hash), |entries| entries.take((address, LAYOUT)))
                };
                put(&table, Adopted::new(other, LAYOUT, Box::new(())));
                let adopt_and_free = {
                    let (table, drops) = (Arc::clone(&table), Arc::clone(&drops));
                    move || {
                        put(&table, Adopted::new(BLOCK, LAYOUT, Box::new(Counted::new(&drops))));
                        drop(take(&table, BLOCK).expect("one for each"));
                    }
                };
                let thread = thread::spawn(adopt_and_free.clone());
                adopt_and_free();
                thread.join().expect("no panic");
                assert!(take(&table, other).is_some());
                assert!(!table.may_have(hash(BLOCK)) && !table.may_have(hash(other)));
                assert_eq!(drops.load(Ordering::Relaxed), 2);
            });
        }
    }
}

#[cfg(all(test, not(dlbridge_loom)))]
mod tests {
    use alloc::vec::Vec;
    use core::mem::size_of;

    use super::*;

    const LAYOUT: Layout = Layout::new::<u128>();

    fn adopted(address: usize) -> Box<Adopted> {
        Adopted::new(address, LAYOUT, Box::new(()))
    }

    fn put(table: &Table<1>, adopted: Box<Adopted>) {
        table.slot(hash(adopted.address)).with(0, |entries| entries.push(adopted));
    }

    fn take(table: &Table<1>, address: usize, layout: Layout) -> Option<Box<Adopted>> {
        table.slot(hash(address)).with(0, |entries| entries.take((address, layout)))
    }

    /// Three addresses, of which the others have the mark of the first or do not.
    fn addresses(have_its_mark: bool) -> Vec<usize> {
        let mark = |address| Slot::mark(hash(address));
        let others = (2..10_000).map(|n| n * 0x1000).filter(|other| (mark(*other) == mark(0x1000)) == have_its_mark);
        core::iter::once(0x1000).chain(others).take(3).collect()
    }

    #[test]
    fn every_bit_of_an_address_counts_in_its_hash() {
        for bit in 0..usize::BITS {
            assert_ne!(hash(0x1234_5678 ^ 1 << bit), hash(0x1234_5678));
            assert!(u32::try_from(hash(1 << bit)).is_ok());
        }
    }

    #[test]
    fn marks_are_single_bits_beside_the_lock_and_all_are_used() {
        let marks: Vec<usize> = (0..64).map(|n| Slot::mark(n << 26)).collect();
        assert!(marks.iter().all(|mark| mark.is_power_of_two() && *mark != Slot::LOCKED));
        assert_eq!(marks.iter().fold(0, |all, mark| all | mark), !Slot::LOCKED);
        // What chooses the slot does not choose the mark, or all blocks of a slot had the same.
        assert!((0..MANY).all(|hash| Slot::mark(hash) == Slot::mark(0)));
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_large_table_takes_as_much_memory_as_it_says() {
        assert_eq!(size_of::<Table<MANY>>(), 4 << 20);
    }

    #[test]
    fn blocks_of_one_slot_are_taken_in_any_order_and_the_others_stay() {
        for addresses in [addresses(true), addresses(false)] {
            assert_eq!(addresses.len(), 3);
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let table = Table::<1>::new();
                assert!(addresses.iter().all(|address| !table.may_have(hash(*address))));
                addresses.iter().for_each(|address| put(&table, adopted(*address)));
                let mut left = addresses.clone();
                for at in order {
                    // A block of another layout is another one.
                    assert!(take(&table, addresses[at], Layout::new::<u8>()).is_none());
                    let taken = take(&table, addresses[at], LAYOUT).map(|it| it.address);
                    assert_eq!(taken, Some(addresses[at]));
                    assert!(take(&table, addresses[at], LAYOUT).is_none());
                    left.retain(|address| *address != addresses[at]);
                    assert!(left.iter().all(|address| table.may_have(hash(*address))));
                }
                assert!(addresses.iter().all(|address| !table.may_have(hash(*address))));
            }
        }
    }

    #[test]
    fn a_slot_is_locked_while_it_is_accessed() {
        let slot = Slot { state: AtomicUsize::new(6), first: Guarded::new(None) };
        // Whatever the guess.
        for guess in [6, 0, 4] {
            slot.with(guess, |entries| {
                assert_eq!((slot.state.load(Ordering::Relaxed), *entries.marks), (6 | Slot::LOCKED, 6));
            });
            assert_eq!(slot.state.load(Ordering::Relaxed), 6);
        }
    }

    #[test]
    fn the_large_table_takes_what_the_small_one_has_no_room_for() {
        static REGISTRY: Registry = Registry {
            live: AtomicUsize::new(0),
            live_in_many: AtomicUsize::new(0),
            few: Table::new(),
            many: Table::new(),
        };
        let counts = || (REGISTRY.live.load(Ordering::Relaxed), REGISTRY.live_in_many.load(Ordering::Relaxed));
        let block = |n: usize| (n * 0x1000) as *mut u8;
        let blocks = 1..=FEW + 10;
        for n in blocks.clone() {
            assert!(n > 1 || !REGISTRY.may_have(block(n)));
            REGISTRY.put(adopted(block(n) as usize));
            assert_eq!(counts(), (n, n.saturating_sub(FEW)));
        }
        assert!(blocks.clone().all(|n| REGISTRY.may_have(block(n))));
        // Of the blocks that are not adopted, almost none is looked for.
        let mistaken = (1..=10 * FEW).filter(|n| REGISTRY.may_have(block(n + 2 * FEW))).count();
        assert!(mistaken < FEW, "{mistaken}");
        assert!(REGISTRY.take(block(2 * FEW), LAYOUT).is_none());
        for n in blocks.clone().rev() {
            assert_eq!(REGISTRY.take(block(n), LAYOUT).map(|it| it.address), Some(block(n) as usize));
            assert_eq!(counts(), (n - 1, (n - 1).saturating_sub(FEW)));
        }
        assert!(blocks.clone().all(|n| !REGISTRY.may_have(block(n)) && REGISTRY.take(block(n), LAYOUT).is_none()));
    }

    #[test]
    fn all_entries_of_a_block_are_in_one_table_and_the_last_is_taken_first() {
        static REGISTRY: Registry = Registry {
            live: AtomicUsize::new(0),
            live_in_many: AtomicUsize::new(0),
            few: Table::new(),
            many: Table::new(),
        };
        let put = |n: usize| REGISTRY.put(adopted(n * 0x1000));
        let take = |n: usize| REGISTRY.take((n * 0x1000) as *mut u8, LAYOUT).is_some();
        let in_many = || REGISTRY.live_in_many.load(Ordering::Relaxed);
        // One that begins in the small table, where there is no room afterwards.
        put(1);
        (2..=FEW + 1).for_each(put);
        assert_eq!(in_many(), 1);
        put(1);
        assert_eq!(in_many(), 1);
        // One that begins in the large table, while there is room in the small one afterwards.
        put(FEW + 2);
        assert_eq!(in_many(), 2);
        assert!((2..=FEW).all(take));
        put(FEW + 2);
        assert_eq!(in_many(), 3);
        put(FEW + 3);
        assert_eq!(in_many(), 3);
        assert!([1, 1, FEW + 1, FEW + 2, FEW + 2, FEW + 3].into_iter().all(take));
        assert_eq!((in_many(), REGISTRY.live.load(Ordering::Relaxed)), (0, 0));
        // The entry that came last is taken first.
        let owners: [_; 3] = core::array::from_fn(|_| alloc::sync::Arc::new(()));
        owners.iter().for_each(|owner| REGISTRY.put(Adopted::new(0x1000, LAYOUT, Box::new(owner.clone()))));
        for left in (0..3).rev() {
            drop(REGISTRY.take(0x1000 as *mut u8, LAYOUT));
            let counts: Vec<usize> = owners.iter().map(alloc::sync::Arc::strong_count).collect();
            assert!(counts.iter().enumerate().all(|(at, count)| *count == if at < left { 2 } else { 1 }));
        }
    }
}
