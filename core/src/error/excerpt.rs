//! A piece of foreign text inside an error.

use alloc::boxed::Box;
use core::fmt;

/// A foreign string, such as the name of a column: all of it up to 1 KiB, and of a longer one the beginning, and `…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt(Box<str>);

impl Excerpt {
    const MOST: usize = 1024;

    /// Keeps `text`, or its first 1024 bytes, or fewer if a character would be cut.
    pub fn new(text: &str) -> Self {
        if text.len() <= Self::MOST {
            return Self(text.into());
        }
        let mut end = Self::MOST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self([&text[..end], "…"].concat().into())
    }

    /// The text kept.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_whole_and_a_novel_is_not() {
        for name in ["", "customer_lifetime_value_in_euro", &"é".repeat(512)] {
            assert_eq!(Excerpt::new(name).as_str(), name);
        }
        let novel = Excerpt::new(&["x", &"é".repeat(1 << 20)].concat());
        assert_eq!(novel.as_str(), ["x", &"é".repeat(511), "…"].concat());
    }
}
