//! Inside an allocator that overwrites what it frees, the adopting allocator must adopt nothing.
#![cfg(feature = "adopting")]

use std::alloc::{GlobalAlloc, Layout, System};

use dlbridge_core::adopting::{adopt, is_installed, Adopting, LEAST};
use dlbridge_core::{Error, Reason};

struct Zeroing(Adopting<System>);

// SAFETY: as for the allocator inside; an allocator may write to a block that is being freed.
unsafe impl GlobalAlloc for Zeroing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is as large as its layout.
        unsafe { block.write_bytes(0, layout.size()) };
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Zeroing = Zeroing(Adopting::new(System));

#[test]
fn it_is_found_out() {
    assert!(!is_installed());
    let mut owner = vec![1f32; LEAST].into_boxed_slice();
    // SAFETY: the owner's own elements, which nobody else has.
    let rejected = unsafe { adopt(owner.as_mut_ptr(), LEAST, owner) }.unwrap_err();
    let error = Error::CopyRequired { framework: "the adopting allocator", reason: Reason::ForeignMemory };
    assert_eq!((rejected.error, rejected.value[0]), (error, 1.));
}
