//! Exports and imports of the primitive of burn's deprecated backend ndarray, which holds an array or borrowed bytes.

use burn_ndarray::NdArrayTensor;
use burn_std::{Bytes, Shape, TensorData};
use dlbridge_core::layout::Dims;
use dlbridge_core::{
    Bridge, DataType, Descriptor, Device, Error, Export, Flags, Import, Memory, Reason, Route, Tensor, TensorRef,
};
use dlbridge_ndarray::ndarray::{ArrayView, IxDyn};

use crate::dtype::by_dtype;
use crate::memory::{self, checked_dtype, foreign};
use crate::{Burn, NAME};

/// Evaluates `$body` for the storage in `$tensor`, whatever its element type.
macro_rules! by_storage {
    ($tensor:expr, $storage:ident => $body:expr) => {
        match $tensor {
            NdArrayTensor::F64($storage) => $body,
            NdArrayTensor::F32($storage) => $body,
            NdArrayTensor::I64($storage) => $body,
            NdArrayTensor::I32($storage) => $body,
            NdArrayTensor::I16($storage) => $body,
            NdArrayTensor::I8($storage) => $body,
            NdArrayTensor::U64($storage) => $body,
            NdArrayTensor::U32($storage) => $body,
            NdArrayTensor::U16($storage) => $body,
            NdArrayTensor::U8($storage) => $body,
            NdArrayTensor::Bool($storage) => $body,
        }
    };
}

fn dims<T>(view: &ArrayView<'_, T, IxDyn>) -> (Dims, Dims) {
    let lengths = view.shape().iter().map(|length| *length as i64).collect();
    (lengths, view.strides().iter().map(|stride| *stride as i64).collect())
}

fn data<T: dlbridge_core::Element>(view: &ArrayView<'_, T, IxDyn>) -> (*const u8, DataType) {
    (view.as_ptr().cast(), T::DTYPE)
}

impl Export<Burn> for NdArrayTensor {
    fn export(self) -> Result<Tensor, Error> {
        if !self.is_borrowed() {
            // The array is exported as all arrays are: writable if it is the only handle.
            return by_storage!(self, storage => storage.into_owned().share());
        }
        let ((data, dtype), (lengths, steps)) =
            by_storage!(&self, storage => (data(&storage.view()), dims(&storage.view())));
        let memory = Memory { dtype, device: Device::CPU, flags: Flags::READ_ONLY, is_valid: false };
        // SAFETY: the view lies within the tensor's bytes (axiom *borrowed*), which can be read (axiom *initialised*)
        // and do not move with the tensor (axiom *place*). burn does not write them (axioms *borrowed* and *const*),
        // not even through the tensor that an import gives back.
        Ok(unsafe {
            Tensor::from_owner(self, memory, lengths.len(), |_, shape, strides| {
                shape.copy_from_slice(&lengths);
                strides.copy_from_slice(&steps);
                data.cast_mut()
            })
        })
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        by_storage!(self, storage => Export::export_copy(&storage.view()))
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        if !self.is_borrowed() {
            return by_storage!(self.clone(), storage => storage.into_owned().describe(read));
        }
        by_storage!(self, storage => {
            let view = storage.view();
            let ((data, dtype), (shape, strides)) = (data(&view), dims(&view));
            Descriptor::new(data, dtype, Device::CPU, Flags::READ_ONLY, &shape, Some(&strides))
                .map(|tensor| read(&tensor.owned_by::<Self>(), None))
        })
    }
}

/// A further handle to the same memory. Fails where burn's `clone` copies, as it does for some borrowed memory.
fn handle(tensor: &NdArrayTensor) -> Result<NdArrayTensor, Error> {
    let handle = tensor.clone();
    let at = |tensor: &NdArrayTensor| by_storage!(tensor, storage => data(&storage.view()).0);
    match at(&handle) == at(tensor) {
        true => Ok(handle),
        false => Err(Error::CopyRequired { framework: NAME, reason: Reason::Borrowed }),
    }
}

impl Export<Burn> for &NdArrayTensor {
    fn export(self) -> Result<Tensor, Error> {
        handle(self)?.export()
    }

    fn export_copy(&self) -> Result<Tensor, Error> {
        NdArrayTensor::export_copy(self)
    }

    fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
        let copied = handle(self).err().map(|_| Reason::Borrowed);
        NdArrayTensor::describe(self, |tensor, reason| read(tensor, reason.or(copied)))
    }
}

impl Import<Burn> for NdArrayTensor {
    fn plan(tensor: &Descriptor<'_>) -> Route {
        match memory::plan(tensor) {
            Route::Impossible(error) => Route::Impossible(error),
            _ if matches!(tensor.dtype(), DataType::FLOAT16 | DataType::BFLOAT16) => {
                let framework = "burn's backend ndarray";
                Route::Impossible(Error::UnsupportedDType { framework, dtype: tensor.dtype() })
            }
            _ if !tensor.is_row_major() => Route::Copied(Reason::Strided),
            route => route,
        }
    }

    fn import(tensor: Tensor) -> Result<Self, Error> {
        Self::plan(&tensor.descriptor()).require_shared(NAME)?;
        let dtype = checked_dtype(&tensor)?;
        let tensor = match tensor.downcast::<Self>() {
            Ok(own) => return Ok(own),
            Err(tensor) => tensor,
        };
        let shape: Shape = tensor.shape().iter().map(|length| *length as usize).collect::<Vec<_>>().into();
        // If the tensor is owned by a vector, the vector becomes an array. All other memory is borrowed.
        let bytes = by_dtype!(
            tensor.dtype(),
            T => match tensor.into_vec::<T>() {
                Ok(vec) => Bytes::from_elems(vec),
                Err(tensor) => foreign(tensor).map_or_else(|| Bytes::from_elems(Vec::<T>::new()), |(bytes, _)| bytes),
            },
            _ => return Err(Error::UnsupportedDType { framework: NAME, dtype: tensor.dtype() })
        );
        Ok(Self::from_data(TensorData::from_bytes(bytes, shape, dtype)))
    }

    fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
        Self::import(tensor.to_contiguous()?)
    }
}
