//! What an adapter implements: [`Export`], [`Import`], [`View`] and [`ViewMut`].
#![forbid(unsafe_code)]

use super::route::Route;
use crate::error::{Error, Reason};
use crate::layout::descriptor::Descriptor;
use crate::tensor::{Tensor, TensorMut, TensorRef};

/// A framework's tensor that can become a DLPack tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be exported as a DLPack tensor",
    label = "no enabled adapter exports this type",
    note = "enable the feature of the framework that `{Self}` belongs to: \
            `dlbridge = {{ features = [\"arrow\", \"burn\", \"candle\", \"ndarray\", \"tch\"] }}`",
    note = "if it is enabled, check that the framework's version is the one that the adapter is built for",
    note = "in generic code, bound the source by `Export<Out>`, with a parameter `Out` of its own: \
            `fn f<T, Out>(source: T) where T: Export<Out>`"
)]
pub trait Export<Via>: Sized {
    /// Hands over the tensor, sharing its memory. Never copies.
    ///
    /// # Errors
    /// What cannot be shared: [`Error::CopyRequired`] (the [root](Error::root) of the error) if [`Export::export_copy`]
    /// would work.
    fn export(self) -> Result<Tensor, Error>;

    /// A tensor with the same elements in memory of its own, row-major, marked as copied. Copies once.
    ///
    /// # Errors
    /// What cannot be expressed at all, and [`Error::OutOfMemory`].
    fn export_copy(&self) -> Result<Tensor, Error>;

    /// Calls `read` with what [`Export::export`] would give, and with the reason if it would have to copy. Neither
    /// copies nor exports.
    ///
    /// # Errors
    /// What cannot be expressed at all.
    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error>;
}

/// A framework's tensor that can be made from a DLPack tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from a DLPack tensor",
    label = "no enabled adapter imports this type",
    note = "enable the feature of the framework that `{Self}` belongs to: \
            `dlbridge = {{ features = [\"arrow\", \"burn\", \"candle\", \"ndarray\", \"tch\"] }}`",
    note = "if it is enabled, check that the framework's version is the one that the adapter is built for",
    note = "if it is `!` or `()`, nothing says which type is wanted: write `share::<Target>()`, or give the variable \
            its type",
    note = "if it is a view (`ArrayView`, `&[T]`), borrow the tensor instead: `tensor.lend::<View>()`",
    note = "in generic code, bound the target by `Import<In>`, with a parameter `In` of its own: \
            `fn f<U, In>() where U: Import<In>`"
)]
pub trait Import<Via>: Sized {
    /// How a tensor would arrive: shared, with one copy, or not at all. Looks at the description only.
    fn plan(tensor: &Descriptor<'_>) -> Route;

    /// Takes over the tensor, sharing its memory. Never copies.
    ///
    /// # Errors
    /// Whatever [`Import::plan`] does not call shared, and failures of the framework. The tensor is dropped.
    fn import(tensor: Tensor) -> Result<Self, Error>;

    /// Copies the elements into memory of the framework, once.
    ///
    /// # Errors
    /// Whatever [`Import::plan`] calls impossible, and failures of the framework.
    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error>;
}

/// A framework's view type that can borrow a DLPack tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot borrow a DLPack tensor",
    label = "no enabled adapter makes this view",
    note = "enable the feature of the framework that `{Self}` belongs to: `dlbridge = {{ features = [\"ndarray\"] }}`",
    note = "if it is `!` or `()`, nothing says which view is wanted: write `lend::<View>()`, or give the variable its \
            type",
    note = "if it owns its elements (`Array`, `Vec`), it is no view: `share` hands the tensor over, `convert` copies \
            if it must"
)]
pub trait View<'a, Via>: Sized {
    /// Borrows the tensor. Never copies.
    ///
    /// # Errors
    /// What the view type cannot express.
    fn view(tensor: TensorRef<'a>) -> Result<Self, Error>;
}

/// A framework's mutable view type that can borrow a DLPack tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot borrow a DLPack tensor for writing",
    label = "no enabled adapter makes this view",
    note = "enable the feature of the framework that `{Self}` belongs to: `dlbridge = {{ features = [\"ndarray\"] }}`",
    note = "if it is `!` or `()`, nothing says which view is wanted: write `lend_mut::<View>()`, or give the \
            variable its type",
    note = "if it owns its elements (`Array`, `Vec`), it is no view: `share` hands the tensor over, `convert` copies \
            if it must"
)]
pub trait ViewMut<'a, Via>: Sized {
    /// Borrows the tensor. Never copies.
    ///
    /// # Errors
    /// What the view type cannot express.
    fn view_mut(tensor: TensorMut<'a>) -> Result<Self, Error>;
}
