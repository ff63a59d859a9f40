//! The core's own adapter: [`Tensor`] itself, Rust's vectors, boxed and shared slices, and borrowed slices.
//!
//! | type | out | in |
//! |---|---|---|
//! | `Tensor` | itself | itself |
//! | `Vec<T>`, `Box<[T]>` | shared, writable, 1-D | `Vec<T>`: shared if it was made from that vector, or by [adoption](crate::adopting), else one copy |
//! | `Arc<[T]>`, `Arc<Vec<T>>` | shared, writable if it is the only handle, 1-D | – |
//! | `&[T]`, `&mut [T]` | one copy (use [`TensorRef::from_slice`] to lend it) | borrowed, if contiguous |
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::route::Route;
use super::traits::{Export, Import, View, ViewMut};
use crate::error::{Error, Reason};
use crate::layout::descriptor::Descriptor;
use crate::tensor::{Tensor, TensorMut, TensorRef};
use crate::types::{Device, Element, Flags};

/// The marker of the types that the core itself bridges.
#[derive(Debug)]
pub enum Core {}

impl Export<Core> for Tensor {
    fn export(self) -> Result<Tensor, Error> {
        Ok(self)
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        self.to_contiguous()
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        Ok(read(&self.descriptor(), None))
    }
}

impl Import<Core> for Tensor {
    fn plan(_: &Descriptor<'_>) -> Route {
        Route::Shared
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Ok(tensor)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        tensor.to_contiguous()
    }
}

/// Describes `elements` as a 1-D tensor.
fn describe<T: Element, R>(elements: &[T], flags: Flags, read: impl FnOnce(&Descriptor<'_>) -> R) -> Result<R, Error> {
    let shape = [elements.len() as i64];
    Descriptor::new(elements.as_ptr().cast(), T::DTYPE, Device::CPU, flags, &shape, None).map(|tensor| read(&tensor))
}

fn copy<T: Element>(elements: &[T]) -> Result<Tensor, Error> {
    TensorRef::from_slice(elements, &[elements.len() as i64])?.to_contiguous()
}

/// The owning buffers, and the flags that each is exported with. (For an `Arc` this is an estimate; the export
/// decides.)
macro_rules! buffers {
    ($($ty:ty, $this:ident => $flags:expr;)*) => {$(
        impl<T: Element> Export<Core> for $ty {
            fn export(self) -> Result<Tensor, Error> {
                let len = self.len();
                Ok(Tensor::new(self, &[len])?)
            }

            fn export_copy(&self) -> Result<Tensor, Error> {
                copy(self)
            }

            fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
                let $this = self;
                describe(self, $flags, |tensor| read(&tensor.owned_by::<Self>(), None))
            }
        }
    )*};
}

buffers! {
    Vec<T>, _this => Flags::empty();
    Box<[T]>, _this => Flags::empty();
    Arc<[T]>, this => shared(this);
    Arc<Vec<T>>, this => shared(this);
}

fn shared<B: ?Sized>(buffer: &Arc<B>) -> Flags {
    if Arc::strong_count(buffer) == 1 && Arc::weak_count(buffer) == 0 {
        Flags::empty()
    } else {
        Flags::READ_ONLY
    }
}

impl<T: Element> Export<Core> for &[T] {
    fn export(self) -> Result<Tensor, Error> {
        Err(Error::CopyRequired { framework: "a slice", reason: Reason::Borrowed })
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        describe(self, Flags::READ_ONLY, |tensor| read(tensor, Some(Reason::Borrowed)))
    }
}

/// The elements in row-major order.
impl<T: Element> Import<Core> for Vec<T> {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        if let Err(error) = tensor.check_dtype(T::DTYPE).and_then(|()| tensor.check_host()) {
            Route::Impossible(error)
        } else if !tensor.is_owned_by::<Self>() {
            adoption::<T>(tensor)
        } else if tensor.is_row_major() {
            Route::Shared
        } else {
            Route::Copied(Reason::Strided)
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared("Vec")?;
        let tensor = match tensor.into_vec() {
            Ok(vec) => return Ok(vec),
            Err(tensor) => tensor,
        };
        #[cfg(feature = "adopting")]
        let tensor = match tensor.adopt() {
            Ok(vec) => return Ok(vec),
            Err(tensor) => tensor,
        };
        // Either some booleans are invalid, or the tensor shows only a part of the vector.
        tensor.view().as_ptr::<T>()?;
        Err(Error::CopyRequired { framework: "Vec", reason: Reason::Strided })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        tensor.to_vec()
    }
}

/// How a tensor that no vector owns becomes a vector.
fn adoption<T: Element>(tensor: &Descriptor<'_>) -> Route {
    #[cfg(feature = "adopting")]
    let adoptable = tensor.check_adoptable::<T>();
    #[cfg(not(feature = "adopting"))]
    let adoptable = {
        _ = (tensor, T::DTYPE);
        Err(Reason::ForeignMemory)
    };
    match adoptable {
        Ok(()) => Route::Shared,
        Err(reason) => Route::Copied(reason),
    }
}

impl<'a, T: Element> View<'a, Core> for &'a [T] {
    fn view(tensor: TensorRef<'a>) -> Result<Self, Error> {
        tensor.as_slice()
    }
}

impl<'a, T: Element> ViewMut<'a, Core> for &'a mut [T] {
    fn view_mut(tensor: TensorMut<'a>) -> Result<Self, Error> {
        tensor.into_mut_slice()
    }
}
