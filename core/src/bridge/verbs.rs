//! The verbs that users call: [`Bridge`] between owned tensors, [`Lend`] and [`LendMut`] to views.
#![forbid(unsafe_code)]

use super::route::{Converted, CopyPolicy, Route};
use super::traits::{Export, Import, View, ViewMut};
use crate::error::{Error, Reason};
use crate::tensor::{Tensor, TensorMut, TensorRef};

/// The verbs: from any exporting type to any importing one.
///
/// ```
/// use dlbridge_core::{Bridge, Tensor};
/// let tensor: Tensor = vec![1.0f32, 2.0, 3.0].share()?;
/// let back = tensor.share::<Vec<f32>>()?; // the very same vector
/// # assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), dlbridge_core::Error>(())
/// ```
///
/// # In generic code
/// Every type has the verbs; [`Export`] and [`Import`] decide which of them can be called. So these are the bounds to
/// write, not `T: Bridge`. `Out` and `In` stand for the adapters of the two types: they are parameters of their own,
/// which are inferred where the function is called.
///
/// ```
/// use dlbridge_core::{Bridge, Error, Export, Import};
///
/// fn hand_over<T, U, Out, In>(source: T) -> Result<U, Error>
/// where
///     T: Export<Out>,
///     U: Import<In>,
/// {
///     source.share()
/// }
///
/// let vec: Vec<f32> = hand_over(vec![1.0f32, 2.0, 3.0])?;
/// # assert_eq!(vec, [1.0, 2.0, 3.0]);
/// # Ok::<(), dlbridge_core::Error>(())
/// ```
pub trait Bridge<Out, In>: Sized {
    /// The same memory as a `Dst`. `Copies: never`.
    ///
    /// # Errors
    /// [`Error::CopyRequired`] with the reason if [`Bridge::convert`] would work; else what is impossible.
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

    /// The same elements as a `Dst`, copied or not as `policy` says, with the reason if they were copied.
    /// `Copies: at most once`, with one exception: a source that has to be decoded is copied again for a target that
    /// neither takes over a vector nor shares row-major memory (Arrow's packed booleans and record batches).
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
            // The source itself has to copy. The copy is a row-major vector, which every framework that holds vectors
            // takes over as it is, and most others share.
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
    /// A method call dereferences its receiver: `(&tensor).route()` answers for `tensor` by value. To ask about the
    /// reference, call `Bridge::<_, _>::route(&&tensor)`.
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
