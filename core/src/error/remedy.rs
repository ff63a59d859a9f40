//! What to do where sharing was refused because only a copy would do: the ways without a copy first, then the copy.
//!
//! The frameworks are told by the names that adapters put into their errors. One without a row here gets the general
//! advice.

use super::reason::Reason;

/// What `framework` advises for `reason`: the end of a sentence.
pub(super) fn remedy(framework: &str, reason: Reason) -> &'static str {
    match (framework, reason) {
        // What cannot be adopted is no tensor, and has no verbs.
        ("the adopting allocator", Reason::ForeignMemory) => {
            "install `dlbridge::adopting::Adopting` as the global allocator, or copy the elements"
        }
        ("the adopting allocator", _) => "copy the elements",
        ("a slice", Reason::Borrowed) => {
            "hand over the `Vec` or `Arc<[T]>` that owns it, lend it with `TensorRef::from_slice`, or use `convert`"
        }
        ("ndarray", Reason::Borrowed) => {
            "hand it over by value, make it shared with `into_shared()` and hand over a clone, or use `convert`"
        }
        (_, Reason::Borrowed) => "hand it over by value, or use `convert`",
        ("candle", Reason::ReadOnly | Reason::Gaps) => "take `ReadOnly<candle_core::Tensor>` instead, or use `convert`",
        ("tch", Reason::ReadOnly | Reason::Gaps) => "take `ReadOnly<tch::Tensor>` instead, or use `convert`",
        ("Vec", Reason::ReadOnly | Reason::Small) => "borrow it with `lend::<&[T]>()`, or use `convert`",
        ("candle", Reason::Variable) => {
            "`detach()` it and take no step of the optimiser while it is shared, or use `convert`"
        }
        ("tch", Reason::NotUnique) => {
            "hand it over by value while no other handle lives (one that `let t = t.view(..)` shadowed still lives, \
             and so does one that `detach()` was called on), or use `convert`"
        }
        (_, Reason::NotUnique) => "hand it over by value while no other handle lives, or use `convert`",
        ("candle", Reason::ForeignMemory) => {
            "install the adopting allocator (`dlbridge::adopting`), with which it holds most foreign memory, \
             or use `convert`"
        }
        ("Vec", Reason::ForeignMemory) => {
            "borrow it with `lend::<&[T]>()`, install the adopting allocator (`dlbridge::adopting`), or use `convert`"
        }
        ("ndarray", Reason::ForeignMemory) => {
            "take `dlbridge::ndarray::Owned` or borrow a view with `lend`, install the adopting allocator \
             (`dlbridge::adopting`), or use `convert`"
        }
        ("ndarray", Reason::Strided) => {
            "take `dlbridge::ndarray::Owned` or borrow a view with `lend`, or use `convert`"
        }
        ("arrow", Reason::Scattered) => "share the columns one by one, or use `convert`",
        (_, Reason::Small) => "use `convert`, whose copy of so little is cheap",
        _ => "use `convert`",
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;
    use crate::Error;

    /// Every reason that an adapter gives for refusing, and the words that follow it.
    const ADVICE: &[(&str, Reason, &str)] = &[
        (
            "the adopting allocator",
            Reason::ForeignMemory,
            "install `dlbridge::adopting::Adopting` as the global allocator, or copy the elements",
        ),
        ("the adopting allocator", Reason::Small, "copy the elements"),
        ("the adopting allocator", Reason::Misaligned { align: 4 }, "copy the elements"),
        (
            "a slice",
            Reason::Borrowed,
            "hand over the `Vec` or `Arc<[T]>` that owns it, lend it with `TensorRef::from_slice`, or use `convert`",
        ),
        (
            "Vec",
            Reason::ForeignMemory,
            "borrow it with `lend::<&[T]>()`, install the adopting allocator (`dlbridge::adopting`), or use `convert`",
        ),
        ("Vec", Reason::ReadOnly, "borrow it with `lend::<&[T]>()`, or use `convert`"),
        ("Vec", Reason::Small, "borrow it with `lend::<&[T]>()`, or use `convert`"),
        ("Vec", Reason::Strided, "use `convert`"),
        ("Vec", Reason::Misaligned { align: 4 }, "use `convert`"),
        (
            "ndarray",
            Reason::Borrowed,
            "hand it over by value, make it shared with `into_shared()` and hand over a clone, or use `convert`",
        ),
        (
            "ndarray",
            Reason::ForeignMemory,
            "take `dlbridge::ndarray::Owned` or borrow a view with `lend`, install the adopting allocator \
             (`dlbridge::adopting`), or use `convert`",
        ),
        ("ndarray", Reason::Strided, "take `dlbridge::ndarray::Owned` or borrow a view with `lend`, or use `convert`"),
        ("ndarray", Reason::Misaligned { align: 8 }, "use `convert`"),
        (
            "candle",
            Reason::Variable,
            "`detach()` it and take no step of the optimiser while it is shared, or use `convert`",
        ),
        ("candle", Reason::ReadOnly, "take `ReadOnly<candle_core::Tensor>` instead, or use `convert`"),
        ("candle", Reason::Gaps, "take `ReadOnly<candle_core::Tensor>` instead, or use `convert`"),
        (
            "candle",
            Reason::ForeignMemory,
            "install the adopting allocator (`dlbridge::adopting`), with which it holds most foreign memory, \
             or use `convert`",
        ),
        ("candle", Reason::Small, "use `convert`, whose copy of so little is cheap"),
        ("candle", Reason::NegativeStrides, "use `convert`"),
        ("candle", Reason::Strided, "use `convert`"),
        ("candle", Reason::Misaligned { align: 4 }, "use `convert`"),
        (
            "tch",
            Reason::NotUnique,
            "hand it over by value while no other handle lives (one that `let t = t.view(..)` shadowed still lives, \
             and so does one that `detach()` was called on), or use `convert`",
        ),
        ("tch", Reason::ReadOnly, "take `ReadOnly<tch::Tensor>` instead, or use `convert`"),
        ("tch", Reason::Gaps, "take `ReadOnly<tch::Tensor>` instead, or use `convert`"),
        ("tch", Reason::Lazy, "use `convert`"),
        ("tch", Reason::NegativeStrides, "use `convert`"),
        ("tch", Reason::Misaligned { align: 4 }, "use `convert`"),
        ("burn", Reason::Borrowed, "hand it over by value, or use `convert`"),
        ("burn", Reason::Lazy, "use `convert`"),
        ("burn", Reason::Strided, "use `convert`"),
        ("burn", Reason::Misaligned { align: 4 }, "use `convert`"),
        ("arrow", Reason::Scattered, "share the columns one by one, or use `convert`"),
        ("arrow", Reason::Nulls, "use `convert`"),
        ("arrow", Reason::Encoded, "use `convert`"),
        ("arrow", Reason::Strided, "use `convert`"),
        ("arrow", Reason::Misaligned { align: 8 }, "use `convert`"),
        ("another framework", Reason::ReadOnly, "use `convert`"),
        ("another framework", Reason::Requested, "use `convert`"),
        ("another framework", Reason::Borrowed, "hand it over by value, or use `convert`"),
        ("another framework", Reason::NotUnique, "hand it over by value while no other handle lives, or use `convert`"),
    ];

    #[test]
    fn a_refused_copy_says_why_and_what_to_do_instead() {
        for (framework, reason, advice) in ADVICE.iter().copied() {
            let expected = format!("{framework} cannot share this tensor without a copy, because {reason}: {advice}");
            assert_eq!(Error::CopyRequired { framework, reason }.to_string(), expected);
        }
    }
}
