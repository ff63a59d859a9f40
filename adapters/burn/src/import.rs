//! Imports as tensors on burn's backend flex.

use burn_flex::{Flex, FlexTensor, Layout};
use burn_std::{Bytes, Shape};
use burn_tensor::kind::{Autodiff, TensorKind};
use burn_tensor::{BackendPrimitive, Tensor as BurnTensor};
use dlbridge_core::{Descriptor, Error, Import, Route, Tensor, TensorRef};

use crate::dtype::by_dtype;
use crate::export::Exported;
use crate::host::check;
use crate::memory::{self, checked_dtype, foreign};
use crate::{Burn, NAME};

impl Import<Burn> for FlexTensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        memory::plan(tensor)
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let dtype = checked_dtype(&tensor)?;
        let tensor = match tensor.downcast::<Exported>() {
            Ok(Exported { bytes, layout, dtype }) => return Ok(Self::from_arc(bytes, layout, dtype)),
            Err(tensor) => tensor,
        };
        let shape: Shape = tensor.shape().iter().map(|length| *length as usize).collect();
        let tensor = by_dtype!(
            tensor.dtype(),
            T => match tensor.into_vec::<T>() {
                Ok(vec) => return Ok(Self::new(Bytes::from_elems(vec), Layout::contiguous(shape), dtype)),
                Err(tensor) => tensor,
            },
            _ => tensor
        );
        let strides = tensor.strides().iter().zip(tensor.shape());
        // The stride of an axis of length 1 is never used and may be any number, but burn would compute with it.
        let strides = strides.map(|(stride, length)| if *length > 1 { stride as isize } else { 1 }).collect();
        Ok(match foreign(tensor) {
            Some((bytes, offset)) => Self::new(bytes, Layout::new(shape, strides, offset / dtype.size()), dtype),
            // There are no elements. burn wants an aligned address all the same.
            None => Self::new(Bytes::from_elems(Vec::<u128>::new()), Layout::contiguous(shape), dtype),
        })
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}

/// The tensor is on the device `Device::flex()`, without autodiff.
impl<const D: usize, K> Import<Burn> for BurnTensor<D, K>
where
    K: Autodiff + TensorKind + BackendPrimitive<Flex, Primitive = FlexTensor>,
{
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match check::<D, K>(tensor) {
            Ok(()) => FlexTensor::plan(tensor),
            Err(error) => Route::Impossible(error),
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        check::<D, K>(&tensor.descriptor())?;
        FlexTensor::import(tensor).map(Self::from_primitive::<Flex>)
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        check::<D, K>(tensor)?;
        FlexTensor::import_copy(tensor).map(Self::from_primitive::<Flex>)
    }
}
