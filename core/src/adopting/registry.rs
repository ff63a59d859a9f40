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

    pub(super) fn put(&self, adopted: Box<Adopted>) {
        // Which table a block is in is a matter of speed only.
        if self.live.fetch_add(1, Ordering::Relaxed) < FEW {
            self.few.put(adopted);
        } else {
            self.live_in_many.fetch_add(1, Ordering::Relaxed);
            self.many.put(adopted);
        }
    }

    #[cold]
    pub(super) fn take(&self, block: *mut u8, layout: Layout) -> Option<Box<Adopted>> {
        let address = block as usize;
        let taken = self.few.take(address, layout).or_else(|| {
            if self.live_in_many.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let taken = self.many.take(address, layout)?;
            self.live_in_many.fetch_sub(1, Ordering::Relaxed);
            Some(taken)
        })?;
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

    fn put(&self, mut adopted: Box<Adopted>) {
        self.slot(hash(adopted.address)).with(0, |first, state| {
            (adopted.next, adopted.marks_before) = (first.take(), *state);
            *state |= adopted.mark();
            *first = Some(adopted);
        });
    }

    fn take(&self, address: usize, layout: Layout) -> Option<Box<Adopted>> {
        let hash = hash(address);
        if !self.may_have(hash) {
            return None;
        }
        self.slot(hash).with(Slot::mark(hash), |first, state| {
            let (mut link, mut marks_after) = (&mut *first, 0);
            while link.as_ref().is_some_and(|adopted| (adopted.address, adopted.layout) != (address, layout)) {
                let adopted = link.as_mut()?;
                marks_after |= adopted.mark();
                link = &mut adopted.next;
            }
            let mut taken = link.take()?;
            *link = taken.next.take();
            *state = first.as_ref().map_or(0, |_| marks_after | taken.marks_before);
            Some(taken)
        })
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

    /// Runs `access` under the lock, on the blocks and on the state, of which `state` is a guess. `access` must neither
    /// allocate nor free, or a thread could wait for itself.
    fn with<R>(&self, mut state: usize, access: impl FnOnce(&mut Option<Box<Adopted>>, &mut usize) -> R) -> R {
        let lock =
            |state| self.state.compare_exchange_weak(state, state | Self::LOCKED, Ordering::Acquire, Ordering::Relaxed);
        while let Err(found) = lock(state) {
            state = found & !Self::LOCKED;
            if found != state {
                spin();
            }
        }
        // SAFETY: the invariant; this thread has locked the slot.
        let result = unsafe { self.first.with(|first| access(first, &mut state)) };
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

    /// A block that two threads adopt and free, each on its own, is there for both, and each owner is dropped once.
    #[test]
    fn loom_a_block_that_is_adopted_twice_is_found_twice() {
        for (other, _) in [others(true), others(false)] {
            loom::model(move || {
                let (table, drops) = (Arc::new(Table::<1>::new()), Counted::counter());
                table.put(Adopted::new(other, LAYOUT, Box::new(())));
                let adopt_and_free = {
                    let (table, drops) = (Arc::clone(&table), Arc::clone(&drops));
                    move || {
                        table.put(Adopted::new(BLOCK, LAYOUT, Box::new(Counted::new(&drops))));
                        drop(table.take(BLOCK, LAYOUT).expect("one for each"));
                    }
                };
                let thread = thread::spawn(adopt_and_free.clone());
                adopt_and_free();
                thread.join().expect("no panic");
                assert!(table.take(other, LAYOUT).is_some());
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
                addresses.iter().for_each(|address| table.put(adopted(*address)));
                let mut left = addresses.clone();
                for at in order {
                    // A block of another layout is another one.
                    assert!(table.take(addresses[at], Layout::new::<u8>()).is_none());
                    let taken = table.take(addresses[at], LAYOUT).map(|it| it.address);
                    assert_eq!(taken, Some(addresses[at]));
                    assert!(table.take(addresses[at], LAYOUT).is_none());
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
            slot.with(guess, |_, state| {
                assert_eq!((slot.state.load(Ordering::Relaxed), *state), (6 | Slot::LOCKED, 6));
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
}
