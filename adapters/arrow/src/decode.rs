//! Copies of what cannot be shared: packed booleans, dictionaries, decimals, and nulls that are filled.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int8Type};
use arrow_array::{Array, downcast_dictionary_array, downcast_primitive_array};
use arrow_buffer::{ArrowNativeType, ScalarBuffer, i256};
use arrow_schema::DataType as ArrowType;
use dlbridge_core::layout;
use dlbridge_core::{Descriptor, Device, Element, Error, Flags, Tensor, TensorRef};

use crate::dtype::{Storage, by_dtype, unsupported};
use crate::source::Source;

impl Source<'_> {
    /// The elements in a row-major tensor of their own, decoded and filled.
    pub(crate) fn copy(&self) -> Result<Tensor, Error> {
        let mut copy = match self.storage {
            Storage::Plain => self.view()?.to_contiguous()?,
            _ => self.decode()?,
        };
        if let Some(fill) = &self.fill {
            let valid = self.valid();
            let valid = self.in_memory().map(|entry| valid[entry - self.window.start]);
            by_dtype!(
                self.dtype,
                T => fill_nulls::<T>(&mut copy, valid, fill),
                _ => fill_nulls::<bool>(&mut copy, valid, fill)
            )?;
        }
        Ok(copy)
    }

    /// Which elements are valid, as booleans in the tensor's shape, row-major.
    pub(crate) fn validity(&self) -> Result<Tensor, Error> {
        let valid = self.valid();
        let shape: Vec<usize> = self.shape.iter().map(|length| *length as usize).collect();
        let elements: Vec<bool> = self.in_memory().map(|entry| valid[entry - self.window.start]).collect();
        Ok(Tensor::new(elements, &shape)?)
    }

    /// Which elements are valid, in the order of memory.
    fn valid(&self) -> Vec<bool> {
        let mut valid = vec![true; self.window.len()];
        for entries in &self.validity {
            // `entries` is never empty: only levels that have nulls are remembered.
            let each = valid.len() / entries.len();
            entries.iter().enumerate().filter(|(_, is_valid)| !is_valid).for_each(|(entry, _)| {
                valid[entry * each..(entry + 1) * each].fill(false);
            });
        }
        valid
    }

    /// The indices of the tensor's elements in the leaf array, in the tensor's row-major order.
    fn in_memory(&self) -> impl Iterator<Item = usize> + '_ {
        let is_permuted = !layout::is_row_major(&self.shape, Some(&self.strides));
        let permuted = |element: usize| {
            let (mut left, mut entry) = (element, 0);
            for (length, stride) in self.shape.iter().zip(self.strides.iter()).rev() {
                entry += left % *length as usize * *stride as usize;
                left /= *length as usize;
            }
            entry
        };
        (0..self.window.len())
            .map(move |element| self.window.start + if is_permuted { permuted(element) } else { element })
    }

    /// The elements in place, if they are stored as the tensor has them.
    pub(crate) fn view(&self) -> Result<TensorRef<'_>, Error> {
        let (buffer, range) = self.bytes()?;
        let (data, shape, strides) = (buffer[range].as_ptr(), &*self.shape, Some(&*self.strides));
        let tensor = Descriptor::new(data, self.dtype, Device::CPU, Flags::READ_ONLY, shape, strides)?;
        // SAFETY: these are the elements of the range, in another order at most. They can be read (axiom *bytes*), and
        // nobody writes them while the buffer is borrowed (axiom *unwritten*).
        Ok(unsafe { TensorRef::from_descriptor(tensor) })
    }

    /// A copy of elements that are stored in another form, decoded.
    fn decode(&self) -> Result<Tensor, Error> {
        let like = self.anywhere(&self.shape)?;
        let (leaf, entries) = (&*self.leaf, self.in_memory());
        match self.storage {
            Storage::Bits => {
                let bits = leaf.as_boolean().values();
                collect(&like, entries.map(|entry| bits.value(entry)))
            }
            Storage::Bytes => {
                let bytes = leaf.as_primitive::<Int8Type>().values();
                collect(&like, entries.map(|entry| bytes[entry] != 0))
            }
            Storage::Decimal { scale } => match leaf.data_type() {
                ArrowType::Decimal32(..) => {
                    let values = leaf.as_primitive::<Decimal32Type>().values();
                    collect(&like, entries.map(|entry| scaled(values[entry].into(), scale)))
                }
                ArrowType::Decimal64(..) => {
                    let values = leaf.as_primitive::<Decimal64Type>().values();
                    collect(&like, entries.map(|entry| scaled(values[entry] as f64, scale)))
                }
                ArrowType::Decimal128(..) => {
                    let values = leaf.as_primitive::<Decimal128Type>().values();
                    collect(&like, entries.map(|entry| scaled(values[entry] as f64, scale)))
                }
                _ => {
                    let values = leaf.as_primitive::<Decimal256Type>().values();
                    collect(&like, entries.map(|entry| scaled(float(values[entry]), scale)))
                }
            },
            Storage::Dictionary => by_dtype!(
                self.dtype,
                T => self.look_up::<T>(&like, entries),
                _ => Err(unsupported(leaf.data_type()))
            ),
            Storage::Plain => Err(unsupported(leaf.data_type())),
        }
    }

    /// The dictionary's values for its keys. A null key gives a zero.
    fn look_up<T: Element + ArrowNativeType>(
        &self,
        like: &Descriptor<'_>,
        entries: impl Iterator<Item = usize>,
    ) -> Result<Tensor, Error> {
        let leaf: &dyn Array = &*self.leaf;
        downcast_dictionary_array!(
            leaf => {
                let values: &dyn Array = leaf.values();
                let buffer = downcast_primitive_array!(
                    values => values.values().inner().clone(),
                    other => return Err(unsupported(other))
                );
                let values = ScalarBuffer::<T>::from(buffer);
                let keys = leaf.keys();
                let value = |entry: usize| match keys.is_valid(entry) {
                    true => values.get(keys.value(entry).as_usize()).copied().unwrap_or_default(),
                    false => T::default(),
                };
                collect(like, entries.map(value))
            },
            other => Err(unsupported(other))
        )
    }
}

/// A row-major tensor of these elements, with the shape and the type of `like`.
fn collect<T: Element>(like: &Descriptor<'_>, elements: impl Iterator<Item = T>) -> Result<Tensor, Error> {
    like.check_dtype(T::DTYPE)?;
    let expected = like.len();
    let write = |target: *mut u8| {
        let mut found = 0;
        for element in elements.take(expected) {
            // SAFETY: there is room for as many elements as are expected.
            unsafe { target.cast::<T>().wrapping_add(found).write_unaligned(element) };
            found += 1;
        }
        if found == expected { Ok(()) } else { Err(Error::LengthMismatch { expected, found }) }
    };
    // SAFETY: `Ok` only if all elements are written, which are of the tensor's type.
    unsafe { Tensor::filled(like, write) }
}

/// Writes `fill`, the bytes of a `T`, wherever an element is not valid.
fn fill_nulls<T: Element>(tensor: &mut Tensor, valid: impl Iterator<Item = bool>, fill: &[u8]) -> Result<(), Error> {
    let (dtype, shape) = (tensor.dtype(), []);
    let fill = Descriptor::new(fill.as_ptr(), dtype, Device::CPU, Flags::READ_ONLY, &shape, None)?;
    // SAFETY: one element of the tensor's type, as `Scalar::to_bytes` made it.
    let fill: T = unsafe { TensorRef::from_descriptor(fill) }.to_vec()?[0];
    let elements = tensor.as_mut_slice::<T>()?;
    elements.iter_mut().zip(valid).filter(|(_, is_valid)| !is_valid).for_each(|(element, _)| *element = fill);
    Ok(())
}

/// The value of a decimal that is stored as this integer.
fn scaled(integer: f64, scale: i8) -> f64 {
    let unit = 10f64.powi(i32::from(scale).abs());
    if scale < 0 { integer * unit } else { integer / unit }
}

fn float(value: i256) -> f64 {
    match value.to_i128() {
        Some(value) => value as f64,
        None => {
            let (low, high) = value.to_parts();
            high as f64 * 2f64.powi(128) + low as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_become_floats() {
        for value in [0, 1, -1, 12345, i128::MIN, i128::MAX] {
            assert_eq!(float(i256::from_i128(value)), value as f64);
        }
        assert_eq!([scaled(125., 2), scaled(-5., 0), scaled(1., -5), scaled(3., -9)], [1.25, -5., 1e5, 3e9]);
        assert_eq!(float(i256::MAX), 2f64.powi(255));
        assert_eq!(float(i256::MIN), -2f64.powi(255));
    }
}
