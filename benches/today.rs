//! How elements get from one framework to another without dlbridge: the first hands them out as a slice or a vector,
//! and the next one takes them in, each in the cheapest way that its own interface has.

use std::borrow::Cow;
use std::sync::Arc;

use dlbridge::ReadOnly;
use dlbridge::arrow::arrow_array::cast::AsArray;
use dlbridge::arrow::arrow_array::types::Float32Type;
use dlbridge::arrow::arrow_array::{FixedSizeListArray, Float32Array};
use dlbridge::arrow::arrow_schema::{DataType, Field};
use dlbridge::burn::burn_std::TensorData;
use dlbridge::burn::burn_tensor::{Device as BurnDevice, Tensor as Burn};
use dlbridge::candle::candle_core::{Device, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, Ix2};
use dlbridge::tch::tch::Tensor as Torch;

/// A type that hands out its elements.
pub(crate) trait HandOut {
    /// Calls `take` with the elements in row-major order, borrowed where the framework lends them.
    fn hand_out<R>(self, take: impl FnOnce(Cow<'_, [f32]>) -> R) -> R;
}

/// A type that takes elements in.
pub(crate) trait TakeIn {
    /// The type itself, or the most similar type that can be made without dlbridge.
    type Taken;

    /// A matrix of the elements.
    fn take_in(elements: Cow<'_, [f32]>, shape: [usize; 2]) -> Self::Taken;
}

/// candle's tensor over a vector.
pub(crate) fn candle(elements: Vec<f32>, shape: [usize; 2]) -> Candle {
    Candle::from_vec(elements, &shape, &Device::Cpu).expect("as many elements")
}

/// burn's tensor over a vector.
pub(crate) fn burn(elements: Vec<f32>, shape: [usize; 2]) -> Burn<2> {
    Burn::from_data(TensorData::new(elements, shape), &BurnDevice::flex())
}

fn view_out<R>(view: ArrayView2<'_, f32>, take: impl FnOnce(Cow<'_, [f32]>) -> R) -> R {
    match view.as_slice() {
        Some(elements) => take(Cow::Borrowed(elements)),
        None => take(Cow::Owned(view.as_standard_layout().into_owned().into_raw_vec_and_offset().0)),
    }
}

fn torch_out(torch: &Torch) -> Vec<f32> {
    Vec::try_from(torch.contiguous().view(-1)).expect("f32")
}

macro_rules! hand_out {
    ($($ty:ty: |$value:ident, $take:ident| $out:expr;)*) => {$(
        impl HandOut for $ty {
            fn hand_out<R>(self, $take: impl FnOnce(Cow<'_, [f32]>) -> R) -> R {
                let $value = self;
                $out
            }
        }
    )*};
}

hand_out! {
    Vec<f32>: |vec, take| take(Cow::Owned(vec));
    Array2<f32>: |array, take| match array.is_standard_layout() {
        true => take(Cow::Owned(array.into_raw_vec_and_offset().0)),
        false => view_out(array.view(), take),
    };
    ArcArray2<f32>: |array, take| view_out(array.view(), take);
    ArrayView2<'_, f32>: |view, take| view_out(view, take);
    Owned<f32, Ix2>: |array, take| view_out(array.view(), take);
    Candle: |candle, take| take(Cow::Owned(candle.flatten_all().and_then(|flat| flat.to_vec1()).expect("f32")));
    Torch: |torch, take| take(Cow::Owned(torch_out(&torch)));
    // tch gets no pointer to sealed memory, so the elements have to be copied first.
    ReadOnly<Torch>: |torch, take| take(Cow::Owned(torch_out(&torch.copy())));
    Burn<2>: |burn, take| take(Cow::Owned(burn.into_data().try_into_vec().expect("f32")));
    FixedSizeListArray: |lists, take| take(Cow::Borrowed(lists.values().as_primitive::<Float32Type>().values()));
}

macro_rules! take_in {
    ($($ty:ty => $taken:ty: |$elements:ident, $shape:ident| $in:expr;)*) => {$(
        impl TakeIn for $ty {
            type Taken = $taken;

            fn take_in($elements: Cow<'_, [f32]>, $shape: [usize; 2]) -> $taken {
                $in
            }
        }
    )*};
}

fn array(elements: Cow<'_, [f32]>, shape: [usize; 2]) -> Array2<f32> {
    Array2::from_shape_vec(shape, elements.into_owned()).expect("as many elements")
}

fn torch(elements: &[f32], shape: [usize; 2]) -> Torch {
    Torch::from_slice(elements).view(shape.map(|length| length as i64))
}

take_in! {
    Vec<f32> => Self: |elements, _shape| elements.into_owned();
    Array2<f32> => Self: |elements, shape| array(elements, shape);
    ArcArray2<f32> => Self: |elements, shape| array(elements, shape).into_shared();
    Owned<f32, Ix2> => Array2<f32>: |elements, shape| array(elements, shape);
    Candle => Self: |elements, shape| match elements {
        Cow::Owned(vec) => candle(vec, shape),
        Cow::Borrowed(slice) => Candle::from_slice(slice, &shape, &Device::Cpu).expect("as many elements"),
    };
    Torch => Self: |elements, shape| torch(&elements, shape);
    ReadOnly<Torch> => Torch: |elements, shape| torch(&elements, shape);
    Burn<2> => Self: |elements, shape| burn(elements.into_owned(), shape);
    FixedSizeListArray => Self: |elements, shape| {
        let item = Arc::new(Field::new_list_field(DataType::Float32, false));
        FixedSizeListArray::new(item, shape[1] as i32, Arc::new(Float32Array::from(elements.into_owned())), None)
    };
}
