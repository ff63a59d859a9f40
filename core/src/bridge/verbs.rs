//! The bridge: what an adapter implements ([`Export`], [`Import`], [`View`]), and the verbs that users call
//! ([`Bridge`], [`Lend`]).
//!
//! Every trait has a marker parameter `Via`, an empty enum of the adapter. It makes the impls legal in a crate that owns
//! neither the trait nor the framework's type, and it is always inferred, because each type has exactly one.
#![forbid(unsafe_code)]

use crate::{Converted, CopyPolicy, Descriptor, Error, Reason, Route, Tensor, TensorMut, TensorRef};

/// A framework's tensor that can become a DLPack tensor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be exported as a DLPack tensor",
    label = "no enabled adapter exports this type",
    note = "enable the feature of the framework that `{Self}` belongs to: \
            `dlbridge = {{ features = [\"arrow\", \"burn\", \"candle\", \"ndarray\", \"tch\"] }}`",
    note = "if it is enabled, check that the framework's version is the one that the adapter is built for"
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
    note = "if it is enabled, check that the framework's version is the one that the adapter is built for"
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
    note = "enable the feature of the framework that `{Self}` belongs to: `dlbridge = {{ features = [\"ndarray\"] }}`"
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
    note = "enable the feature of the framework that `{Self}` belongs to: `dlbridge = {{ features = [\"ndarray\"] }}`"
)]
pub trait ViewMut<'a, Via>: Sized {
    /// Borrows the tensor. Never copies.
    ///
    /// # Errors
    /// What the view type cannot express.
    fn view_mut(tensor: TensorMut<'a>) -> Result<Self, Error>;
}

/// The verbs: from any exporting type to any importing one.
///
/// ```
/// use dlbridge_core::{Bridge, Tensor};
/// let tensor: Tensor = vec![1.0f32, 2.0, 3.0].share()?;
/// let back = tensor.share::<Vec<f32>>()?; // the very same vector
/// # assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), dlbridge_core::Error>(())
/// ```
pub trait Bridge<Out, In>: Sized {
    /// The same memory as a `Dst`. `Copies: never`.
    ///
    /// # Errors
    /// [`Error::CopyRequired`] if [`Bridge::convert`] would work, and the reason; else what is impossible.
    fn share<Dst>(self) -> Result<Dst, Error>
    where
        Self: Export<Out>,
        Dst: Import<In>,
    {
        Dst::import(self.export()?)
    }

    /// The same elements as a `Dst`. `Copies: once, if they cannot be shared.`
    ///
    /// [`Bridge::convert_with`] tells which it was.
    ///
    /// # Errors
    /// What is impossible even with a copy.
    fn convert<Dst>(self) -> Result<Dst, Error>
    where
        Self: Export<Out>,
        Dst: Import<In>,
    {
        self.convert_with(CopyPolicy::IfNeeded).map(|converted| converted.value)
    }

    /// The same elements as a `Dst`, copied as `policy` says, and the reason if they were. `Copies: at most once`, but
    /// that a source which has to be decoded is copied again for a target which neither takes a vector over nor shares
    /// row-major memory (Arrow's packed booleans and record batches).
    ///
    /// # Errors
    /// As [`Bridge::share`] with [`CopyPolicy::Never`]; else what is impossible even with a copy.
    fn convert_with<Dst>(self, policy: CopyPolicy) -> Result<Converted<Dst>, Error>
    where
        Self: Export<Out>,
        Dst: Import<In>,
    {
        if policy == CopyPolicy::Never {
            return self.share().map(|value| Converted { value, copied: None });
        }
        let (source, plan) = self.describe(|tensor, reason| (reason, Dst::plan(tensor)))?;
        if let Route::Impossible(error) = plan {
            return Err(error);
        }
        let requested = (policy == CopyPolicy::Always).then_some(Reason::Requested);
        match source {
            // The source itself has to copy: into a row-major vector, which every framework that holds vectors takes as it
            // is, and most others share.
            Some(reason) => {
                let copy = self.export_copy()?;
                drop(self);
                let value = import(copy, CopyPolicy::IfNeeded)?.value;
                Ok(Converted { value, copied: requested.or(Some(reason)) })
            }
            None => import(self.export()?, policy),
        }
    }

    /// What [`Bridge::convert`] would do, and why. `Copies: never`; nothing is exported.
    ///
    /// A method call looks through a reference: `(&tensor).route()` answers for `tensor` by value, and
    /// `Bridge::<_, _>::route(&&tensor)` for the reference.
    fn route<Dst>(&self) -> Route
    where
        Self: Export<Out>,
        Dst: Import<In>,
    {
        let route = self.describe(|tensor, reason| match (Dst::plan(tensor), reason) {
            (Route::Impossible(error), _) => Route::Impossible(error),
            (_, Some(reason)) => Route::Copied(reason),
            (plan, None) => plan,
        });
        route.unwrap_or_else(Route::Impossible)
    }
}

impl<T, Out, In> Bridge<Out, In> for T {}

fn import<Dst: Import<In>, In>(tensor: Tensor, policy: CopyPolicy) -> Result<Converted<Dst>, Error> {
    let plan = match policy {
        CopyPolicy::Always => Route::Copied(Reason::Requested),
        _ => Dst::plan(&tensor.descriptor()),
    };
    match plan {
        Route::Shared => Ok(Converted { value: Dst::import(tensor)?, copied: None }),
        Route::Copied(reason) => Ok(Converted { value: Dst::import_copy(&tensor.view())?, copied: Some(reason) }),
        Route::Impossible(error) => Err(error),
    }
}

/// Lending an owned or borrowed tensor to a framework's view type: `tensor.lend::<ArrayView2<f32>>()`.
pub trait Lend<'a, Via>: Sized {
    /// The same memory, borrowed as a `V`. `Copies: never.`
    ///
    /// # Errors
    /// What the view type cannot express: another element type or rank, memory that the CPU cannot read.
    fn lend<V: View<'a, Via>>(self) -> Result<V, Error>;
}

impl<'a, Via> Lend<'a, Via> for TensorRef<'a> {
    #[inline]
    fn lend<V: View<'a, Via>>(self) -> Result<V, Error> {
        V::view(self)
    }
}

impl<'a, Via> Lend<'a, Via> for &'a Tensor {
    #[inline]
    fn lend<V: View<'a, Via>>(self) -> Result<V, Error> {
        V::view(self.view())
    }
}

/// Lending for writing: `tensor.lend_mut::<ArrayViewMut2<f32>>()`.
pub trait LendMut<'a, Via>: Sized {
    /// The same memory, borrowed as a `V` that may write. `Copies: never.`
    ///
    /// # Errors
    /// As [`Lend::lend`]; [`Error::ReadOnly`] and [`Error::Overlap`].
    fn lend_mut<V: ViewMut<'a, Via>>(self) -> Result<V, Error>;
}

impl<'a, Via> LendMut<'a, Via> for TensorMut<'a> {
    fn lend_mut<V: ViewMut<'a, Via>>(self) -> Result<V, Error> {
        V::view_mut(self)
    }
}

impl<'a, Via> LendMut<'a, Via> for &'a mut Tensor {
    fn lend_mut<V: ViewMut<'a, Via>>(self) -> Result<V, Error> {
        V::view_mut(self.view_mut()?)
    }
}
