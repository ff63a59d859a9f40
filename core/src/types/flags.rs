//! The flags of the versioned ABI.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::BitOr;

use crate::sys;

/// What the producer says about an exchange. Bits that DLPack does not define are dropped, as a consumer should.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u64);

impl Flags {
    /// Nobody may write (`DLPACK_FLAG_BITMASK_READ_ONLY`).
    pub const READ_ONLY: Self = Self(sys::DLPACK_FLAG_BITMASK_READ_ONLY);
    /// The producer copied for this exchange (`DLPACK_FLAG_BITMASK_IS_COPIED`).
    pub const COPIED: Self = Self(sys::DLPACK_FLAG_BITMASK_IS_COPIED);
    /// Sub-byte elements take a byte each (`DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`).
    pub const PADDED: Self = Self(sys::DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    /// No flag: writable, shared, packed.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// The flags in these bits; unknown bits are dropped.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & (Self::READ_ONLY.0 | Self::COPIED.0 | Self::PADDED.0))
    }

    /// The bits as the ABI has them.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Nobody may write.
    pub const fn is_read_only(self) -> bool {
        self.0 & Self::READ_ONLY.0 != 0
    }

    /// The producer copied for this exchange.
    pub const fn is_copied(self) -> bool {
        self.0 & Self::COPIED.0 != 0
    }

    /// Sub-byte elements take a byte each.
    pub const fn is_padded(self) -> bool {
        self.0 & Self::PADDED.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for (name, is_set) in
            [("READ_ONLY", self.is_read_only()), ("COPIED", self.is_copied()), ("PADDED", self.is_padded())]
        {
            if is_set {
                set.entry(&format_args!("{name}"));
            }
        }
        set.finish()
    }
}
