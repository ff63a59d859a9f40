//! What to do where sharing was refused because only a copy would do: the ways without a copy first, then the copy.
//!
//! Advice goes by the reason. Only the core's own types, and its allocator, have advice of their own.

use core::fmt;

use super::reason::Reason;

/// The advice for a refusal: the end of a sentence.
pub(super) struct Remedy<'a> {
    /// Who refuses.
    pub(super) framework: &'a str,
    /// Why.
    pub(super) reason: Reason,
}

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = match (self.framework, self.reason) {
            // What cannot be adopted is no tensor, and has no verbs.
            ("the adopting allocator", Reason::ForeignMemory) => {
                return f
                    .write_str("install `dlbridge::adopting::Adopting` as the global allocator, or copy the elements");
            }
            ("the adopting allocator", _) => return f.write_str("copy the elements"),
            ("a slice", _) => "hand over the `Vec` or `Arc<[T]>` that owns it, lend it with `TensorRef::from_slice`, ",
            ("Vec", Reason::ReadOnly | Reason::Small) => "borrow it with `lend::<&[T]>()`, ",
            (framework, Reason::ReadOnly | Reason::Gaps) => {
                // Frameworks that could write have such a type; their names are those of their modules.
                write!(f, "take `ReadOnly<{framework}::Tensor>`, ")?;
                ""
            }
            (_, Reason::Borrowed) => {
                "hand it over by value (an array that you keep becomes a shared one by `into_shared()`), "
            }
            (_, Reason::NotUnique) => {
                "hand it over by value while no other handle lives (one that a later `let` has shadowed still lives, \
                 and so does one that `detach()` was called on), "
            }
            (_, Reason::Variable) => "`detach()` it and take no step of the optimiser while it is shared, ",
            (_, Reason::ForeignMemory) => {
                "take a type that holds foreign memory, borrow it with `lend`, install the adopting allocator \
                 (`dlbridge::adopting`, for 16 KiB or more that may be written), "
            }
            (_, Reason::Scattered) => "share the columns one by one, ",
            _ => return f.write_str("use `convert`"),
        };
        write!(f, "{advice}or use `convert`")
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::Error;

    /// Reasons that adapters give for refusing, and the words that follow them.
    const ADVICE: &[(&str, Reason, &str)] = &[
        (
            "the adopting allocator",
            Reason::ForeignMemory,
            "install `dlbridge::adopting::Adopting` as the global allocator, or copy the elements",
        ),
        ("the adopting allocator", Reason::Small, "copy the elements"),
        (
            "a slice",
            Reason::Borrowed,
            "hand over the `Vec` or `Arc<[T]>` that owns it, lend it with `TensorRef::from_slice`, or use `convert`",
        ),
        ("Vec", Reason::ReadOnly, "borrow it with `lend::<&[T]>()`, or use `convert`"),
        ("Vec", Reason::Strided, "use `convert`"),
        (
            "ndarray",
            Reason::Borrowed,
            "hand it over by value (an array that you keep becomes a shared one by `into_shared()`), or use `convert`",
        ),
        (
            "candle",
            Reason::ForeignMemory,
            "take a type that holds foreign memory, borrow it with `lend`, install the adopting allocator \
             (`dlbridge::adopting`, for 16 KiB or more that may be written), or use `convert`",
        ),
        (
            "candle",
            Reason::Variable,
            "`detach()` it and take no step of the optimiser while it is shared, or use `convert`",
        ),
        ("candle", Reason::Gaps, "take `ReadOnly<candle::Tensor>`, or use `convert`"),
        ("tch", Reason::ReadOnly, "take `ReadOnly<tch::Tensor>`, or use `convert`"),
        (
            "tch",
            Reason::NotUnique,
            "hand it over by value while no other handle lives (one that a later `let` has shadowed still lives, \
             and so does one that `detach()` was called on), or use `convert`",
        ),
        ("arrow", Reason::Scattered, "share the columns one by one, or use `convert`"),
        ("burn", Reason::Lazy, "use `convert`"),
        ("burn", Reason::Misaligned { align: 4 }, "use `convert`"),
        ("candle", Reason::NegativeStrides, "use `convert`"),
    ];

    #[test]
    fn a_refused_copy_says_why_and_what_to_do_instead() {
        for (framework, reason, advice) in ADVICE.iter().copied() {
            let expected = format!("{framework} cannot share this tensor without a copy, because {reason}: {advice}");
            assert_eq!(Error::CopyRequired { framework, reason }.to_string(), expected);
        }
    }
}
