//! Tensors over memory whose every byte is known: borrowed, copied, owned, exchanged with C, and bridged. What is
//! expected comes from a walk over all indices that knows nothing of the crate's own.

use std::ffi::c_void;
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlbridge_core::sys::{
    kDLCPU, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, DLPACK_MAJOR_VERSION,
};
use dlbridge_core::{
    Aliased, Bridge, Buffer, Converted, CopyPolicy, Core, DataType, Descriptor, Device, Element, Error, Exchange,
    Export, Flags, Import, Lend, LendMut, Memory, ReadOnly, Reason, Route, Tensor, TensorMut, TensorRef,
};

/// Layouts within [`BASE`] elements: the lengths, the strides, and where the first element is.
const LAYOUTS: &[(&[i64], &[i64], usize)] = &[
    (&[], &[], 5),
    (&[7], &[1], 2),
    (&[7], &[-1], 9),
    (&[7], &[3], 0),
    (&[7], &[-4], 30),
    (&[6], &[0], 4),
    (&[1], &[i64::MAX], 3),
    (&[0], &[1], 0),
    (&[3, 4], &[4, 1], 1),
    (&[3, 4], &[1, 3], 1),
    (&[3, 4], &[-4, -1], 11),
    (&[3, 4], &[9, 2], 7),
    (&[3, 4], &[0, 1], 7),
    (&[3, 4], &[1, 0], 7),
    (&[3, 1, 4], &[4, i64::MIN, 1], 0),
    (&[3, 0, 4], &[4, 4, 1], 0),
    (&[2, 3, 4], &[12, 4, 1], 0),
    (&[2, 3, 4], &[1, 2, 6], 0),
    (&[2, 3, 4], &[12, 1, 3], 0),
    (&[2, 3, 4], &[24, -5, 1], 20),
    (&[2, 3, 4], &[0, 8, 2], 1),
    (&[2, 1, 3, 2], &[90, 7, -20, 3], 50),
    (&[20, 12], &[1, 20], 0),
    (&[3, 70], &[1, 3], 0),
    (&[2, 12, 11], &[132, 1, 12], 5),
];
const BASE: usize = 300;

/// All indices of a shape, in row-major order.
fn indices(shape: &[i64]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |found, length| {
        found.iter().flat_map(|index| (0..*length as usize).map(|i| [&index[..], &[i]].concat())).collect()
    })
}

/// Where in the base the element at `index` is.
fn place(index: &[usize], strides: &[i64], first: usize) -> usize {
    let steps = index.iter().zip(strides).map(|(index, stride)| *index as i128 * i128::from(*stride));
    (first as i128 + steps.sum::<i128>()) as usize
}

/// Where in the base the elements are, in row-major order.
fn places(shape: &[i64], strides: &[i64], first: usize) -> Vec<usize> {
    indices(shape).iter().map(|index| place(index, strides, first)).collect()
}

/// A borrowed tensor of a layout within `base`, which has `size` bytes for each element.
fn within<'a>(
    base: &'a [u8],
    dtype: DataType,
    size: usize,
    (shape, strides, first): (&'a [i64], &'a [i64], usize),
) -> TensorRef<'a> {
    let data = base.as_ptr().wrapping_add(first * size);
    let tensor = Descriptor::new(data, dtype, Device::CPU, Flags::READ_ONLY, shape, Some(strides)).unwrap();
    // SAFETY: the layout is within the base.
    unsafe { TensorRef::from_descriptor(tensor) }
}

/// Elements as bytes.
fn bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

#[test]
fn elements_are_read_and_copied_in_row_major_order() {
    fn of<T: Element + PartialEq + Debug>(element: impl Fn(usize) -> T) {
        let base: Vec<T> = (0..BASE).map(&element).collect();
        for layout @ (shape, strides, first) in LAYOUTS.iter().copied() {
            let tensor = within(bytes(&base), T::DTYPE, size_of::<T>(), layout);
            let places = places(shape, strides, first);
            let expected: Vec<T> = places.iter().map(|place| base[*place]).collect();
            assert_eq!(tensor.elements::<T>().unwrap().collect::<Vec<T>>(), expected, "{layout:?}");
            assert_eq!(tensor.to_vec::<T>().unwrap(), expected, "{layout:?}");
            for (index, element) in indices(shape).iter().zip(&expected) {
                assert_eq!(tensor.get::<T>(index).unwrap(), *element, "{layout:?} {index:?}");
            }

            let mut target = vec![element(BASE); expected.len()];
            tensor.copy_to_slice(&mut target).unwrap();
            assert_eq!(target, expected, "{layout:?}");
            let mut target = vec![MaybeUninit::uninit(); expected.len()];
            assert_eq!(tensor.copy_to_uninit::<T>(&mut target).unwrap(), expected, "{layout:?}");

            let copy = tensor.to_contiguous().unwrap();
            assert_eq!((copy.dtype(), copy.shape(), copy.flags()), (T::DTYPE, shape, Flags::COPIED));
            assert_eq!(copy.as_slice::<T>().unwrap(), expected, "{layout:?}");
            assert_eq!(copy.to_vec::<T>().unwrap(), expected);
            assert_eq!(copy.to_contiguous().unwrap().into_vec::<T>().unwrap(), expected);

            match tensor.as_slice::<T>() {
                Ok(slice) => assert_eq!(slice, expected, "{layout:?}"),
                Err(error) => {
                    assert_eq!(error, Error::NotContiguous);
                    assert!(places.windows(2).any(|pair| pair[1] != pair[0] + 1), "{layout:?}");
                }
            }
        }
    }
    of(|n| n as u8);
    of(|n| n as i16 - 100);
    of(|n| n as f32 + 0.5);
    of(|n| n as f64 - 0.5);
}

#[test]
fn elements_of_any_size_are_copied_as_bytes() {
    for size in [1, 2, 3, 4, 8, 12, 16, 20] {
        let dtype = DataType::INT8.with_lanes(size as u16);
        let base: Vec<u8> = (0..BASE * size).map(|n| (n * 7 + n / 251) as u8).collect();
        for layout @ (shape, strides, first) in LAYOUTS.iter().copied() {
            let tensor = within(&base, dtype, size, layout);
            let expected: Vec<u8> =
                places(shape, strides, first).iter().flat_map(|place| base[place * size..][..size].to_vec()).collect();
            assert_eq!(tensor.to_bytes().unwrap(), expected, "{size} {layout:?}");
            let copy = tensor.to_contiguous().unwrap();
            assert_eq!(copy.view().to_bytes().unwrap(), expected, "{size} {layout:?}");
        }
    }
}

#[test]
fn packed_elements_are_copied_bit_by_bit() {
    let base: Vec<u8> = (0..BASE / 2).map(|n| (n * 37) as u8).collect();
    let nibble = |bytes: &[u8], at: usize| bytes[at / 2] >> (at % 2 * 4) & 15;
    for (shape, strides, first) in LAYOUTS.iter().copied().filter(|(.., first)| first % 2 == 0) {
        let data = base.as_ptr().wrapping_add(first / 2);
        let dtype = DataType::FLOAT4_E2M1FN;
        let tensor = Descriptor::new(data, dtype, Device::CPU, Flags::READ_ONLY, shape, Some(strides)).unwrap();
        // SAFETY: the layout is within the base.
        let tensor = unsafe { TensorRef::from_descriptor(tensor) };
        let places = places(shape, strides, first);
        let copy = tensor.to_contiguous().unwrap().into_bytes().unwrap();
        assert_eq!(copy.len(), places.len().div_ceil(2));
        for (at, place) in places.iter().enumerate() {
            assert_eq!(nibble(&copy, at), nibble(&base, *place), "{shape:?} {strides:?} {at}");
        }
    }
}

#[test]
fn elements_say_how_many_are_left() {
    let elements = [1f32, 2., 3., 4., 5., 6.];
    let mut walk = TensorRef::from_slice(&elements, &[2, 3]).unwrap().elements::<f32>().unwrap();
    for left in (0..=6).rev() {
        assert_eq!((walk.size_hint(), walk.len()), ((left, Some(left)), left));
        assert_eq!(format!("{walk:?}"), format!("Elements {{ left: {left} }}"));
        assert_eq!(walk.next().is_some(), left > 0);
    }
    assert_eq!(walk.next(), None);
}

#[test]
fn an_element_is_written_where_its_index_says_and_nowhere_else() {
    for (shape, strides, first) in LAYOUTS.iter().copied().filter(|(_, strides, _)| !strides.contains(&0)) {
        for index in indices(shape) {
            let mut base: Vec<i32> = (0..BASE as i32).collect();
            let data = base.as_mut_ptr().wrapping_add(first).cast();
            let tensor = Descriptor::new(data, DataType::INT32, Device::CPU, Flags::empty(), shape, Some(strides));
            // SAFETY: the layout is within the base.
            let mut tensor = unsafe { TensorMut::from_descriptor(tensor.unwrap()) }.unwrap();
            tensor.set(&index, -1i32).unwrap();
            assert_eq!(tensor.as_ref().get::<i32>(&index), Ok(-1));
            let changed: Vec<usize> = (0..BASE).filter(|at| base[*at] != *at as i32).collect();
            assert_eq!(changed, [place(&index, strides, first)], "{shape:?} {strides:?} {index:?}");
        }
    }
}

#[test]
fn an_index_that_does_not_fit_is_refused() {
    let mut elements = [1u16, 2, 3, 4, 5, 6];
    let mut tensor = TensorMut::from_slice(&mut elements, &[2, 3]).unwrap();
    for (index, error) in [
        (&[][..], Error::IndexMismatch { ndim: 2, found: 0 }),
        (&[1], Error::IndexMismatch { ndim: 2, found: 1 }),
        (&[0, 0, 0], Error::IndexMismatch { ndim: 2, found: 3 }),
        (&[2, 0], Error::IndexOutOfBounds { axis: 0, index: 2, length: 2 }),
        (&[1, 3], Error::IndexOutOfBounds { axis: 1, index: 3, length: 3 }),
        (&[0, usize::MAX], Error::IndexOutOfBounds { axis: 1, index: usize::MAX, length: 3 }),
    ] {
        assert_eq!(tensor.as_ref().get::<u16>(index), Err(error.clone()));
        assert_eq!(tensor.set(index, 0u16), Err(error));
    }
    let mismatch = Error::DTypeMismatch { expected: DataType::INT16, found: DataType::UINT16 };
    assert_eq!(tensor.as_ref().get::<i16>(&[0, 0]), Err(mismatch.clone()));
    assert_eq!(tensor.set(&[0, 0], 7i16), Err(mismatch));
    assert_eq!(elements, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_byte_that_is_no_boolean_is_found_wherever_it_is() {
    for layout @ (shape, strides, first) in LAYOUTS.iter().copied() {
        let places = places(shape, strides, first);
        for bad in 0..BASE {
            let mut base: Vec<u8> = (0..BASE).map(|n| n as u8 % 2).collect();
            base[bad] = 2 + bad as u8 % 250;
            let tensor = within(&base, DataType::BOOL, 1, layout);
            let expected = match places.iter().position(|place| *place == bad) {
                Some(index) => Err(Error::InvalidBool { index, value: base[bad] }),
                None => Ok(places.iter().map(|place| base[*place] == 1).collect()),
            };
            assert_eq!(tensor.to_vec::<bool>(), expected, "{layout:?} {bad}");
        }
        let mut base = vec![1; BASE];
        base[first] = 2;
        let tensor = within(&base, DataType::BOOL, 1, layout);
        let result = if places.is_empty() { Ok(()) } else { Err(Error::InvalidBool { index: 0, value: 2 }) };
        assert_eq!(tensor.as_ptr::<bool>().map(drop), result);
        assert_eq!(tensor.elements::<bool>().map(drop), result);
        assert_eq!(tensor.to_contiguous().map(drop), result);
        assert_eq!(tensor.copy_to_slice(&mut vec![false; places.len()]), result);
        assert_eq!(Tensor::stack(&[tensor], 0).map(drop), result);
        // As numbers, the same bytes are as good as any.
        assert!(within(&base, DataType::UINT8, 1, layout).to_vec::<u8>().is_ok());
    }
}

/// Walking all of these elements would take days.
#[test]
fn booleans_that_a_broadcast_axis_repeats_are_looked_at_once() {
    let (base, layout) = ([1u8, 0, 1], (&[1 << 40, 3][..], &[0, 1][..], 0));
    assert!(within(&base, DataType::BOOL, 1, layout).as_ptr::<bool>().is_ok());
    let tensor = within(&[0, 1, 9], DataType::BOOL, 1, layout).as_ptr::<bool>();
    assert_eq!(tensor, Err(Error::InvalidBool { index: 2, value: 9 }));
}

#[test]
fn elements_are_read_as_what_they_are_where_they_are() {
    let base = [1u32, 2, 3, 4];
    let odd = base.as_ptr().cast::<u8>().wrapping_add(2);
    let (data, null, cuda) = (base.as_ptr().cast::<u8>(), ptr::null::<u8>(), Device::cuda(0));
    let mismatch = Error::DTypeMismatch { expected: DataType::UINT32, found: DataType::INT32 };
    let misaligned = Error::Misaligned { address: odd as usize, align: 4 };
    for (data, dtype, device, length, expected) in [
        (data, DataType::UINT32, Device::CPU, 2, Ok(data)),
        (data, DataType::INT32, Device::CPU, 2, Err(mismatch)),
        (data, DataType::UINT32, cuda, 2, Err(Error::NotOnHost { device: cuda })),
        (odd, DataType::UINT32, Device::CPU, 2, Err(misaligned)),
        (odd, DataType::UINT32, Device::CPU, 0, Ok(null)),
        (null, DataType::UINT32, Device::CPU, 0, Ok(null)),
    ] {
        let shape = [length];
        let tensor = Descriptor::new(data, dtype, device, Flags::empty(), &shape, None).unwrap();
        // SAFETY: the elements are in the base, or nowhere.
        let tensor = unsafe { TensorRef::from_descriptor(tensor) };
        let found = tensor.as_ptr::<u32>();
        match (found, expected) {
            // Without elements, any address will do that a slice may have.
            (Ok(found), Ok(_)) if length == 0 => assert!(!found.is_null() && found.is_aligned()),
            (Ok(found), Ok(data)) => assert_eq!(found.cast(), data),
            (found, expected) => {
                let error = expected.unwrap_err();
                assert_eq!(found, Err(error.clone()));
                assert_eq!(tensor.as_slice::<u32>(), Err(error.clone()));
                assert_eq!(tensor.elements::<u32>().map(drop), Err(error));
            }
        }
        assert_eq!(tensor.to_bytes().is_ok(), device == Device::CPU);
        assert_eq!(tensor.to_contiguous().is_ok(), device == Device::CPU);
        // For a copy, any alignment will do.
        assert_eq!(tensor.to_vec::<u32>().is_ok(), device == Device::CPU && dtype == DataType::UINT32);
        assert_eq!(tensor.descriptor().shape(), shape);
    }
}

#[test]
fn a_copy_needs_a_target_of_its_length() {
    let elements = [1i8, 2, 3];
    let tensor = TensorRef::from_slice(&elements, &[3]).unwrap();
    for found in [0, 2, 4] {
        let mut target = vec![9i8; found];
        assert_eq!(tensor.copy_to_slice(&mut target), Err(Error::LengthMismatch { expected: 3, found }));
        assert_eq!(target, vec![9; found]);
    }
    let mismatch = Error::DTypeMismatch { expected: DataType::UINT8, found: DataType::INT8 };
    assert_eq!(tensor.copy_to_slice(&mut [0u8; 3]), Err(mismatch));
}

#[test]
fn slices_are_borrowed_as_tensors_and_back() {
    let mut elements = [1f64, 2., 3., 4., 5., 6.];
    let address = elements.as_ptr();
    for (shape, error) in [
        (&[5][..], Error::LengthMismatch { expected: 5, found: 6 }),
        (&[2, 4], Error::LengthMismatch { expected: 8, found: 6 }),
        (&[-6], Error::NegativeLength { axis: 0, length: -6 }),
        (&[i64::MAX, 2], Error::Overflow { quantity: "element count" }),
    ] {
        assert_eq!(TensorRef::from_slice(&elements, shape).map(drop), Err(error.clone()));
        assert_eq!(TensorMut::from_slice(&mut elements, shape).map(drop), Err(error));
    }
    let tensor = TensorRef::from_slice(&elements, &[2, 3]).unwrap();
    assert_eq!((tensor.shape(), tensor.flags(), tensor.data()), (&[2, 3][..], Flags::READ_ONLY, address.cast()));
    assert_eq!(tensor.as_slice::<f64>().unwrap().as_ptr(), address);
    assert_eq!(tensor.get::<f64>(&[1, 2]), Ok(6.));

    let mut tensor = TensorMut::from_slice(&mut elements, &[3, 2]).unwrap();
    assert_eq!((tensor.descriptor().shape(), tensor.descriptor().flags()), (&[3, 2][..], Flags::empty()));
    assert_eq!(tensor.as_mut_ptr::<f64>().unwrap().cast_const(), address);
    tensor.as_mut_slice::<f64>().unwrap()[1] = 20.;
    assert!(format!("{tensor:?}").contains("dtype: float64"));
    assert_eq!(tensor.as_ref().as_slice::<f64>().unwrap(), [1., 20., 3., 4., 5., 6.]);
    tensor.into_mut_slice::<f64>().unwrap()[5] = 60.;
    assert_eq!(elements, [1., 20., 3., 4., 5., 60.]);
}

#[test]
fn only_memory_of_its_own_is_borrowed_for_writing() {
    let mut base = [0u8; 12];
    let mut borrow = |flags, shape: &[i64], strides: &[i64]| {
        let tensor = Descriptor::new(base.as_mut_ptr(), DataType::UINT8, Device::CPU, flags, shape, Some(strides));
        // SAFETY: the layouts are within the base.
        let tensor = unsafe { TensorMut::from_descriptor(tensor.unwrap()) };
        tensor.map(|mut tensor| tensor.as_mut_slice::<u8>().map(|elements| elements.fill(7)))
    };
    assert_eq!(borrow(Flags::READ_ONLY, &[4], &[1]), Err(Error::ReadOnly));
    assert_eq!(borrow(Flags::empty(), &[2, 2], &[0, 1]), Err(Error::Overlap));
    assert_eq!(borrow(Flags::empty(), &[4], &[2]), Ok(Err(Error::NotContiguous)));
    assert_eq!(borrow(Flags::empty(), &[2, 2], &[2, 1]), Ok(Ok(())));
    assert_eq!(base, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn buffers_are_writable_if_they_are_the_only_handle() {
    fn check<B: Buffer<Item = u16>>(mut buffer: B, is_writable: bool) {
        assert_eq!((buffer.len(), buffer.is_empty()), (4, false));
        let address = buffer.expose().0.cast_const();
        let rejected = Tensor::new(buffer, &[2, 3]).unwrap_err();
        assert_eq!(rejected.error, Error::LengthMismatch { expected: 6, found: 4 });
        let mut tensor = Tensor::new(rejected.value, &[2, 2]).unwrap();
        assert_eq!(tensor.flags().is_read_only(), !is_writable);
        assert_eq!(tensor.view_mut().map(drop), if is_writable { Ok(()) } else { Err(Error::ReadOnly) });
        if is_writable {
            tensor.as_mut_slice::<u16>().unwrap()[1] = 20;
        }
        let expected = if is_writable { [1, 20, 3, 4] } else { [1, 2, 3, 4] };
        assert_eq!(tensor.as_slice::<u16>().unwrap(), expected);
        assert_eq!((tensor.data(), tensor.dtype()), (address.cast(), DataType::UINT16));
        assert_eq!((tensor.device(), tensor.shape(), tensor.view().ndim()), (Device::CPU, &[2, 2][..], 2));
        assert_eq!(tensor.strides(), [2, 1]);
        let text = format!("{tensor:?}");
        assert!(text.contains("dtype: uint16") && text.contains("shape: [2, 2]"), "{text}");
        let tensor = tensor.downcast::<String>().unwrap_err();
        let mut buffer = tensor.downcast::<B>().map_err(drop).unwrap();
        assert_eq!(buffer.expose().0.cast_const(), address);
    }
    let elements = [1u16, 2, 3, 4];
    check(elements.to_vec(), true);
    check(Box::<[u16]>::from(elements), true);
    check(Arc::<[u16]>::from(elements), true);
    check(Arc::new(elements.to_vec()), true);
    let (slice, vec) = (Arc::<[u16]>::from(elements), Arc::new(elements.to_vec()));
    check(slice.clone(), false);
    check(vec.clone(), false);
    let weak = Arc::downgrade(&slice);
    check(slice, false);
    assert!(weak.upgrade().is_none());
    check(&[1u16, 2, 3, 4][..], false);

    let empty = Tensor::new(Vec::<u16>::new(), &[3, 0]).unwrap();
    assert!(Buffer::is_empty(&Vec::<u16>::new()) && empty.data().is_null());
    assert_eq!(empty.as_slice::<u16>(), Ok(&[][..]));
    assert_eq!(Tensor::new(vec![0u8], &[usize::MAX]).unwrap_err().error, Error::Overflow { quantity: "element count" });
}

/// An owner that counts when it is dropped.
#[derive(Clone, Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

const BYTES: Memory = Memory { dtype: DataType::UINT8, device: Device::CPU, flags: Flags::empty(), is_valid: true };

/// A tensor over a part of the elements of `owner`.
fn part_of<T: Element>(owner: Vec<T>, dtype: DataType, (shape, strides, first): (&[i64], &[i64], usize)) -> Tensor {
    // SAFETY: the tests name layouts within the vector, which nobody else has.
    unsafe {
        Tensor::from_sole_owner(owner, Memory { dtype, ..BYTES }, shape.len(), |owner, lengths, steps| {
            lengths.copy_from_slice(shape);
            steps.copy_from_slice(strides);
            owner.as_mut_ptr().wrapping_add(first).cast()
        })
    }
}

#[test]
fn an_owner_is_dropped_once_or_given_back() {
    let released = Arc::<AtomicUsize>::default();
    let make = |shape: &[i64]| {
        let owner = (Counted(released.clone()), vec![1u8, 2, 3, 4, 5, 6]);
        let (memory, strides) = (Memory { flags: Flags::READ_ONLY, ..BYTES }, vec![1; shape.len()]);
        // SAFETY: the elements are within the vector.
        unsafe {
            Tensor::from_owner(owner, memory, shape.len(), |owner, lengths, steps| {
                assert!(lengths.iter().chain(steps.iter()).all(|number| *number == 0));
                lengths.copy_from_slice(shape);
                steps.copy_from_slice(&strides);
                owner.1.as_mut_ptr()
            })
        }
    };
    for ndim in 0..9 {
        let shape: Vec<i64> = (0..ndim).map(|axis| if axis + 1 == ndim { 6 } else { 1 }).collect();
        let before = released.load(Ordering::SeqCst);
        let tensor = make(&shape);
        assert_eq!((tensor.shape(), tensor.view().ndim()), (&shape[..], ndim));
        assert_eq!(tensor.to_vec::<u8>().unwrap(), [1, 2, 3, 4, 5, 6][..if ndim == 0 { 1 } else { 6 }]);
        let tensor = tensor.downcast::<Vec<u8>>().unwrap_err();
        assert_eq!(released.load(Ordering::SeqCst), before);
        drop(tensor);
        assert_eq!(released.load(Ordering::SeqCst), before + 1);
        let owner = make(&shape).downcast::<(Counted, Vec<u8>)>().unwrap();
        assert_eq!((owner.0.count(), &owner.1[..]), (before + 1, &[1, 2, 3, 4, 5, 6][..]));
    }

    let owner = Counted::default();
    // SAFETY: it panics before there is a tensor.
    let unfinished = AssertUnwindSafe(|| unsafe {
        Tensor::from_owner(Counted(owner.0.clone()), BYTES, 2, |_, _, _| panic!("no address"))
    });
    assert!(catch_unwind(unfinished).is_err());
    assert_eq!(owner.count(), 1);
}

#[test]
fn a_vector_comes_back_only_whole_and_in_order() {
    let bytes = || vec![1u8, 2, 3, 4, 5, 6];
    for (layout, dtype, is_vec) in [
        ((&[6][..], &[1][..], 0), DataType::UINT8, true),
        ((&[2, 3], &[3, 1], 0), DataType::UINT8, true),
        ((&[2, 3], &[1, 2], 0), DataType::UINT8, false),
        ((&[6], &[-1], 5), DataType::UINT8, false),
        ((&[5], &[1], 0), DataType::UINT8, false),
        ((&[5], &[1], 1), DataType::UINT8, false),
        ((&[6], &[1], 0), DataType::INT8, false),
    ] {
        let is_whole = is_vec || dtype == DataType::INT8;
        let tensor = part_of(bytes(), dtype, layout);
        assert_eq!(tensor.into_vec::<u8>().ok(), is_vec.then(bytes), "{layout:?} {dtype}");
        assert_eq!(part_of(bytes(), dtype, layout).into_bytes().ok(), is_whole.then(bytes), "{layout:?} {dtype}");
    }
    // As many elements as the vector has, but elsewhere.
    static ELSEWHERE: [u8; 6] = [1, 2, 3, 4, 5, 6];
    let elsewhere = || {
        let memory = Memory { flags: Flags::READ_ONLY, ..BYTES };
        // SAFETY: the elements are static, and nobody writes them.
        unsafe {
            Tensor::from_owner(bytes(), memory, 1, |_, shape, strides| {
                (shape[0], strides[0]) = (6, 1);
                ELSEWHERE.as_ptr().cast_mut()
            })
        }
    };
    assert!(elsewhere().into_vec::<u8>().is_err());
    assert!(elsewhere().into_bytes().is_err());
    // Without elements there is no address to compare.
    assert_eq!(Tensor::new(Vec::<f32>::with_capacity(5), &[0, 4]).unwrap().into_vec::<f32>().unwrap().capacity(), 5);
    assert_eq!(Tensor::new(Vec::<u8>::with_capacity(5), &[0, 4]).unwrap().into_bytes().unwrap().capacity(), 5);
    // Other owners are none of these vectors.
    let boxed = Tensor::new(bytes().into_boxed_slice(), &[6]).unwrap();
    let boxed = boxed.into_vec::<u8>().unwrap_err().into_bytes().unwrap_err();
    assert_eq!(&boxed.downcast::<Box<[u8]>>().unwrap()[..], bytes());
    let floats = Tensor::new(vec![1f32, 2.], &[2]).unwrap().into_vec::<f64>().unwrap_err().into_bytes().unwrap_err();
    assert_eq!(floats.into_vec::<f32>().unwrap(), [1., 2.]);
}

#[test]
fn a_tensor_is_made_read_only_in_place() {
    let tensor = Tensor::new(vec![1i64, 2], &[2]).unwrap();
    let address = tensor.data();
    let mut tensor = tensor.into_read_only().into_read_only();
    assert_eq!((tensor.flags(), tensor.data()), (Flags::READ_ONLY, address));
    assert_eq!(tensor.as_mut_slice::<i64>(), Err(Error::ReadOnly));
    assert_eq!(tensor.into_vec::<i64>().unwrap(), [1, 2]);
}

/// What a producer in C keeps until its deleter runs.
#[derive(Debug)]
struct Kept {
    memory: Vec<u64>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _calls: Counted,
}

/// A managed tensor on its way from C, whose fields can be set to anything.
struct Foreign {
    raw: DLTensor,
    major: u32,
    flags: Flags,
    has_deleter: bool,
    kept: Box<Kept>,
}

impl Foreign {
    /// A tensor over `memory`, with strides or with NULL. Counts its deleter's calls in `calls`.
    fn new(
        dtype: DataType,
        shape: &[i64],
        strides: Option<&[i64]>,
        memory: Vec<u64>,
        calls: &Arc<AtomicUsize>,
    ) -> Self {
        let strides = strides.map(<[i64]>::to_vec);
        let has_strides = strides.is_some();
        let (shape, strides, _calls) = (shape.to_vec(), strides.unwrap_or_default(), Counted(calls.clone()));
        let mut kept = Box::new(Kept { memory, shape, strides, _calls });
        let raw = DLTensor {
            data: kept.memory.as_mut_ptr().cast(),
            device: DLDevice { device_type: kDLCPU, device_id: 0 },
            ndim: kept.shape.len() as i32,
            dtype: dtype.into(),
            shape: kept.shape.as_mut_ptr(),
            strides: if has_strides { kept.strides.as_mut_ptr() } else { ptr::null_mut() },
            byte_offset: 0,
        };
        Self { raw, major: DLPACK_MAJOR_VERSION, flags: Flags::empty(), has_deleter: true, kept }
    }

    /// Four numbers, 10 to 13, two by two.
    fn numbers(calls: &Arc<AtomicUsize>) -> Self {
        Self::new(DataType::UINT64, &[2, 2], Some(&[2, 1]), vec![10, 11, 12, 13], calls)
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn into_versioned(self) -> NonNull<DLManagedTensorVersioned> {
        let deleter: unsafe extern "C" fn(*mut DLManagedTensorVersioned) = delete_versioned;
        NonNull::from(Box::leak(Box::new(DLManagedTensorVersioned {
            version: DLPackVersion { major: self.major, minor: 0 },
            manager_ctx: Box::into_raw(self.kept).cast(),
            deleter: self.has_deleter.then_some(deleter),
            flags: self.flags.bits(),
            dl_tensor: self.raw,
        })))
    }

    fn into_legacy(self) -> NonNull<DLManagedTensor> {
        let deleter: unsafe extern "C" fn(*mut DLManagedTensor) = delete_legacy;
        NonNull::from(Box::leak(Box::new(DLManagedTensor {
            dl_tensor: self.raw,
            manager_ctx: Box::into_raw(self.kept).cast(),
            deleter: self.has_deleter.then_some(deleter),
        })))
    }

    /// The tensor that each ABI gives.
    fn import(make: impl Fn() -> Self) -> [Result<Tensor, Error>; 2] {
        // SAFETY: whatever the tests change in a well-formed tensor is refused before it is used.
        let versioned = unsafe { Tensor::from_raw(make().into_versioned()) };
        // SAFETY: as above.
        let legacy = unsafe { Tensor::from_legacy_raw(make().into_legacy()) };
        [versioned, legacy]
    }
}

fn release(kept: *mut c_void) {
    // SAFETY: `Foreign` has leaked it.
    drop(unsafe { Box::from_raw(kept.cast::<Kept>()) });
}

unsafe extern "C" fn delete_versioned(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: `Foreign` has leaked it.
    release(unsafe { Box::from_raw(managed) }.manager_ctx);
}

unsafe extern "C" fn delete_legacy(managed: *mut DLManagedTensor) {
    // SAFETY: `Foreign` has leaked it.
    release(unsafe { Box::from_raw(managed) }.manager_ctx);
}

#[test]
fn a_foreign_tensor_is_read_and_written_and_deleted_once() {
    let calls = Arc::<AtomicUsize>::default();
    for (round, tensor) in Foreign::import(|| Foreign::numbers(&calls)).into_iter().enumerate() {
        let mut tensor = tensor.unwrap();
        assert_eq!((tensor.dtype(), tensor.device(), tensor.shape()), (DataType::UINT64, Device::CPU, &[2, 2][..]));
        assert_eq!((tensor.flags(), tensor.strides().to_vec()), (Flags::empty(), vec![2, 1]));
        tensor.as_mut_slice::<u64>().unwrap()[3] = 7;
        assert_eq!(tensor.as_slice::<u64>().unwrap(), [10, 11, 12, 7]);
        let tensor = tensor.downcast::<Kept>().unwrap_err().into_vec::<u64>().unwrap_err().into_bytes().unwrap_err();
        assert_eq!(calls.load(Ordering::SeqCst), round);
        drop(tensor);
        assert_eq!(calls.load(Ordering::SeqCst), round + 1);
    }
}

#[test]
fn a_foreign_tensor_that_is_refused_is_deleted_once() {
    let calls = Arc::<AtomicUsize>::default();
    for (change, error) in [
        ((|it| it.raw.ndim = -1) as fn(&mut Foreign), Error::NegativeNdim { ndim: -1 }),
        (|it| it.raw.shape = ptr::null_mut(), Error::NullShape { ndim: 2 }),
        (|it| it.raw.data = ptr::null_mut(), Error::NullData { elements: 4 }),
        (|it| it.kept.shape[1] = -2, Error::NegativeLength { axis: 1, length: -2 }),
        (|it| it.kept.strides[0] = i64::MAX, Error::Overflow { quantity: "strides" }),
        (|it| it.raw.byte_offset = u64::MAX, Error::Overflow { quantity: "byte_offset" }),
    ] {
        let before = calls.load(Ordering::SeqCst);
        for tensor in Foreign::import(|| Foreign::numbers(&calls).with(change)) {
            assert_eq!(tensor.map(drop), Err(error.clone()));
        }
        assert_eq!(calls.load(Ordering::SeqCst), before + 2, "{error}");
    }
    let before = calls.load(Ordering::SeqCst);
    for major in [0, 2] {
        let managed = Foreign::numbers(&calls).with(|it| it.major = major).into_versioned();
        // SAFETY: the version is refused.
        let refused = unsafe { Tensor::from_raw(managed) };
        assert_eq!(refused.map(drop), Err(Error::UnsupportedVersion { major, minor: 0 }));
    }
    assert_eq!(calls.load(Ordering::SeqCst), before + 2);
}

/// What consumers rely on: explicit normal strides, the first element at `data`, and a deleter.
#[test]
fn only_a_foreign_struct_that_every_consumer_reads_goes_out_as_it_came_in() {
    let calls = Arc::<AtomicUsize>::default();
    let scalar = || Foreign::new(DataType::UINT64, &[], None, vec![10], &calls);
    let line = || Foreign::new(DataType::UINT64, &[4], None, vec![10, 11, 12, 13], &calls);
    let wide = || Foreign::new(DataType::UINT64, &[1, 4], Some(&[9, 1]), vec![10, 11, 12, 13], &calls);
    let make: [(&dyn Fn() -> Foreign, bool); 6] = [
        (&|| Foreign::numbers(&calls), true),
        (&scalar, true),
        (&line, false),
        (&wide, false),
        (&|| Foreign::new(DataType::UINT64, &[2], Some(&[2]), vec![10, 11, 12], &calls), true),
        (&|| line().with(|it| (it.raw.byte_offset, it.kept.shape[0]) = (8, 3)), false),
    ];
    for (case, (make, is_plain)) in make.into_iter().enumerate() {
        let before = calls.load(Ordering::SeqCst);
        let managed = make().into_versioned();
        // SAFETY: a well-formed tensor.
        let tensor = unsafe { Tensor::from_raw(managed) }.unwrap();
        let (shape, elements) = (tensor.shape().to_vec(), tensor.to_vec::<u64>().unwrap());
        let raw = tensor.into_raw();
        assert_eq!(raw == managed, is_plain, "{case}");
        // SAFETY: as above.
        let tensor = unsafe { Tensor::from_raw(raw) }.unwrap();
        assert_eq!((tensor.shape(), tensor.to_vec::<u64>().unwrap()), (&shape[..], elements.clone()), "{case}");
        drop(tensor);

        let managed = make().into_legacy();
        // SAFETY: as above.
        let tensor = unsafe { Tensor::from_legacy_raw(managed) }.unwrap();
        let raw = tensor.into_legacy_raw().unwrap();
        assert_eq!(raw == managed, is_plain, "{case}");
        // SAFETY: as above.
        let tensor = unsafe { Tensor::from_legacy_raw(raw) }.unwrap();
        assert_eq!((tensor.shape(), tensor.to_vec::<u64>().unwrap()), (&shape[..], elements.clone()), "{case}");
        // From one ABI to the other and back.
        // SAFETY: as above.
        let tensor = unsafe { Tensor::from_raw(tensor.into_raw()) }.unwrap();
        // SAFETY: as above.
        let tensor = unsafe { Tensor::from_legacy_raw(tensor.into_legacy_raw().unwrap()) }.unwrap();
        assert_eq!((tensor.shape(), tensor.to_vec::<u64>().unwrap()), (&shape[..], elements), "{case}");
        assert_eq!(calls.load(Ordering::SeqCst), before + 1);
        drop(tensor);
        assert_eq!(calls.load(Ordering::SeqCst), before + 2);
    }
}

#[test]
fn a_foreign_struct_without_a_deleter_gets_one() {
    let calls = Arc::<AtomicUsize>::default();
    let make = || Foreign::numbers(&calls).with(|it| it.has_deleter = false);
    let managed = make().into_versioned();
    // SAFETY: a well-formed tensor.
    let raw = unsafe { Tensor::from_raw(managed) }.unwrap().into_raw();
    // SAFETY: as above.
    assert!(raw != managed && unsafe { raw.as_ref() }.deleter.is_some());
    // SAFETY: as above.
    drop(unsafe { Tensor::from_raw(raw) });
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // SAFETY: nobody else frees it.
    unsafe { delete_versioned(managed.as_ptr()) };

    let managed = make().into_legacy();
    // SAFETY: as above.
    let raw = unsafe { Tensor::from_legacy_raw(managed) }.unwrap().into_legacy_raw().unwrap();
    // SAFETY: as above.
    assert!(raw != managed && unsafe { raw.as_ref() }.deleter.is_some());
    // SAFETY: as above.
    drop(unsafe { Tensor::from_legacy_raw(raw) });
    // SAFETY: as above.
    unsafe { delete_legacy(managed.as_ptr()) };
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_foreign_tensor_is_made_read_only_without_touching_its_struct() {
    let calls = Arc::<AtomicUsize>::default();
    for tensor in Foreign::import(|| Foreign::numbers(&calls).with(|it| it.flags = Flags::COPIED)) {
        let tensor = tensor.unwrap();
        let flags = tensor.flags() | Flags::READ_ONLY;
        let mut tensor = tensor.into_read_only().into_read_only();
        assert_eq!((tensor.flags(), tensor.as_slice::<u64>().unwrap()), (flags, &[10, 11, 12, 13][..]));
        assert_eq!(tensor.view_mut().map(drop), Err(Error::ReadOnly));
        let rejected = tensor.into_legacy_raw().unwrap_err();
        assert_eq!(rejected.error, Error::ReadOnly);
        assert_eq!(rejected.value.as_slice::<u64>().unwrap(), [10, 11, 12, 13]);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn what_the_legacy_abi_cannot_say_is_refused() {
    let calls = Arc::<AtomicUsize>::default();
    let (dtype, flags) = (DataType::FLOAT4_E2M1FN, Flags::PADDED);
    let managed = Foreign::new(dtype, &[8], Some(&[1]), vec![0], &calls).with(|it| it.flags = flags).into_versioned();
    // SAFETY: a well-formed tensor.
    let rejected = unsafe { Tensor::from_raw(managed) }.unwrap().into_legacy_raw().unwrap_err();
    assert_eq!(rejected.error, Error::Inexpressible { framework: "the legacy ABI", what: "padded sub-byte elements" });
    assert_eq!(rejected.value.shape(), [8]);
}

#[test]
fn foreign_booleans_are_checked_and_other_numbers_are_not() {
    let calls = Arc::<AtomicUsize>::default();
    let bools = |byte| Foreign::new(DataType::BOOL, &[8], Some(&[1]), vec![u64::from_ne_bytes([byte; 8])], &calls);
    for tensor in Foreign::import(|| bools(2)) {
        let mut tensor = tensor.unwrap();
        let error = Error::InvalidBool { index: 0, value: 2 };
        assert_eq!(tensor.as_slice::<bool>(), Err(error.clone()));
        assert_eq!(tensor.as_mut_slice::<bool>().map(drop), Err(error.clone()));
        assert_eq!(tensor.to_vec::<bool>(), Err(error.clone()));
        assert_eq!(tensor.convert::<Vec<bool>>(), Err(error));
    }
    for tensor in Foreign::import(|| bools(1)) {
        assert_eq!(tensor.unwrap().as_slice::<bool>().unwrap(), [true; 8]);
    }
    for tensor in Foreign::import(|| Foreign::new(DataType::INT8, &[8], Some(&[1]), vec![u64::MAX], &calls)) {
        assert_eq!(tensor.unwrap().as_slice::<i8>().unwrap(), [-1; 8]);
    }
}

#[test]
fn an_aliased_tensor_is_made_plain_only_if_it_is_not() {
    let calls = Arc::<AtomicUsize>::default();
    let line = || Foreign::new(DataType::UINT64, &[4], None, vec![10, 11, 12, 13], &calls);
    let make: [(&dyn Fn() -> Foreign, bool); 2] = [(&|| Foreign::numbers(&calls), true), (&line, false)];
    for (make, is_plain) in make {
        // SAFETY: a well-formed tensor.
        let versioned = unsafe { Aliased::from_raw(make().into_versioned()) }.unwrap();
        // SAFETY: as above.
        let legacy = unsafe { Aliased::from_legacy_raw(make().into_legacy()) }.unwrap();
        for tensor in [versioned, legacy] {
            let before = ptr::from_ref(tensor.as_raw());
            let text = format!("{tensor:?}");
            assert!(text.contains("dtype: uint64"), "{text}");
            let tensor = tensor.into_plain();
            assert_eq!(ptr::from_ref(tensor.as_raw()) == before, is_plain);
            assert_eq!((tensor.as_raw().strides.is_null(), tensor.as_raw().byte_offset), (false, 0));
            let tensor = tensor.into_read_only();
            assert!(tensor.descriptor().flags().is_read_only());
            // SAFETY: nobody writes.
            assert_eq!(unsafe { tensor.to_contiguous() }.unwrap().to_vec::<u64>().unwrap(), [10, 11, 12, 13]);
        }
    }
    // One of this crate's own is plain already.
    let tensor = Aliased::from(Tensor::new(vec![1u8, 2], &[1, 2]).unwrap());
    let before = ptr::from_ref(tensor.as_raw());
    assert_eq!(ptr::from_ref(tensor.into_plain().as_raw()), before);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
}

#[test]
fn parts_of_any_layout_are_stacked_along_any_axis() {
    for size in [1, 2, 3, 4, 8, 16] {
        let dtype = DataType::INT8.with_lanes(size as u16);
        let base: Vec<u8> = (0..BASE * size).map(|n| (n * 7 + n / 251) as u8 | 1).collect();
        for layout @ (shape, strides, first) in LAYOUTS.iter().copied() {
            // Beside it, the last elements of the base in row-major order.
            let count: i64 = shape.iter().product();
            let plain: Vec<i64> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
            let rest = BASE - count as usize;
            let parts = [(strides, first), (&plain, rest), (strides, first)];
            let views = parts.map(|(strides, first)| within(&base, dtype, size, (shape, strides, first)));
            for axis in 0..=shape.len() {
                let mut expected_shape = shape.to_vec();
                expected_shape.insert(axis, 3);
                let expected: Vec<u8> = indices(&expected_shape)
                    .into_iter()
                    .flat_map(|mut index| {
                        let (strides, first) = parts[index.remove(axis)];
                        base[place(&index, strides, first) * size..][..size].to_vec()
                    })
                    .collect();
                let stacked = Tensor::stack(&views, axis).unwrap();
                assert_eq!((stacked.shape(), stacked.flags()), (&expected_shape[..], Flags::COPIED));
                assert_eq!(stacked.view().to_bytes().unwrap(), expected, "{size} {layout:?} {axis}");
            }
            let error =
                Error::IndexOutOfBounds { axis: shape.len() + 1, index: shape.len() + 1, length: shape.len() + 1 };
            assert_eq!(Tensor::stack(&views, shape.len() + 1).map(drop), Err(error));
        }
    }
}

#[test]
fn packed_and_padded_parts_are_not_mixed() {
    let base = [1u8, 2, 3, 4];
    let part = |dtype, flags| {
        let part = Descriptor::new(base.as_ptr(), dtype, Device::CPU, flags, &[4], None).unwrap();
        // SAFETY: within the base.
        unsafe { TensorRef::from_descriptor(part) }
    };
    let (packed, padded) =
        (part(DataType::FLOAT4_E2M1FN, Flags::empty()), part(DataType::FLOAT4_E2M1FN, Flags::PADDED));
    let unsupported = |what| Err(Error::Unsupported { framework: "Tensor::stack", what });
    let stack = |parts: [TensorRef<'_>; 2]| Tensor::stack(&parts, 0)?.view().to_bytes();
    assert_eq!(stack([packed, packed]), unsupported("elements packed into parts of bytes"));
    assert_eq!(stack([padded, packed]), unsupported("mix of packed and padded elements"));
    assert_eq!(stack([padded, padded]), Ok(vec![1, 2, 3, 4, 1, 2, 3, 4]));
    // For elements of whole bytes, the flag says nothing.
    let whole = [part(DataType::UINT8, Flags::empty()), part(DataType::UINT8, Flags::PADDED)];
    assert_eq!(stack(whole), Ok(vec![1, 2, 3, 4, 1, 2, 3, 4]));
}

#[test]
fn a_tensor_is_filled_by_whoever_knows_how() {
    for (dtype, bytes, flags) in [
        (DataType::FLOAT32, 24, Flags::empty()),
        (DataType::INT8.with_lanes(3), 18, Flags::empty()),
        (DataType::FLOAT4_E2M1FN, 3, Flags::empty()),
        (DataType::FLOAT4_E2M1FN, 6, Flags::PADDED),
        (DataType::BOOL, 6, Flags::empty()),
    ] {
        let like =
            Descriptor::new(NonNull::<u128>::dangling().as_ptr().cast(), dtype, Device::CPU, flags, &[2, 3], None)
                .unwrap();
        let fill = |byte: u8| {
            let write = |target: *mut u8| {
                // SAFETY: there is room for all bytes.
                unsafe { target.write_bytes(byte, bytes) };
                Ok(())
            };
            // SAFETY: all bytes are written.
            unsafe { Tensor::filled(&like, write) }
        };
        let tensor = fill(1).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape(), tensor.flags()), (dtype, &[2, 3][..], Flags::COPIED | flags));
        assert_eq!(tensor.view().to_bytes().unwrap(), vec![1; bytes]);
        let is_bool = dtype == DataType::BOOL;
        assert_eq!(fill(2).map(drop), if is_bool { Err(Error::InvalidBool { index: 0, value: 2 }) } else { Ok(()) });
        // SAFETY: it fails.
        let failed = unsafe { Tensor::filled(&like, |_| Err(Error::ReadOnly)) };
        assert_eq!(failed.map(drop), Err(Error::ReadOnly));
    }
}

#[test]
fn buffers_are_shared_as_tensors_and_vectors_come_back() {
    fn check<B: Buffer<Item = i32> + Export<Core>>(make: impl Fn() -> B, flags: Flags) {
        let describe = |it: &Descriptor<'_>, reason: Option<Reason>| {
            assert_eq!((it.dtype(), it.shape(), it.flags(), reason), (DataType::INT32, &[4][..], flags, None));
            assert!(it.is_owned_by::<B>());
            it.data()
        };
        let buffer = make();
        let described = buffer.describe(describe).unwrap();
        assert_eq!(buffer.route::<Tensor>(), Route::Shared);
        let copy = buffer.export_copy().unwrap();
        assert_eq!((copy.flags(), copy.to_vec::<i32>().unwrap()), (Flags::COPIED, vec![1, 2, 3, 4]));
        let tensor: Tensor = buffer.share().unwrap();
        assert_eq!((tensor.data(), tensor.flags()), (described, flags));
        assert_eq!((tensor.shape(), tensor.as_slice::<i32>().unwrap()), (&[4][..], &[1, 2, 3, 4][..]));
    }
    let elements = [1i32, 2, 3, 4];
    check(|| elements.to_vec(), Flags::empty());
    check(|| Box::<[i32]>::from(elements), Flags::empty());
    check(|| Arc::<[i32]>::from(elements), Flags::empty());
    check(|| Arc::new(elements.to_vec()), Flags::empty());
    let (slice, vec) = (Arc::<[i32]>::from(elements), Arc::new(elements.to_vec()));
    check(|| slice.clone(), Flags::READ_ONLY);
    check(|| vec.clone(), Flags::READ_ONLY);
    let weak = std::sync::Mutex::new(Vec::new());
    let watched = || {
        let slice = Arc::<[i32]>::from(elements);
        weak.lock().unwrap().push(Arc::downgrade(&slice));
        slice
    };
    check(watched, Flags::READ_ONLY);

    let vec = elements.to_vec();
    let address = vec.as_ptr();
    let back = vec.share::<Tensor>().unwrap().share::<Tensor>().unwrap().share::<Vec<i32>>().unwrap();
    assert_eq!((back.as_ptr(), &back[..]), (address, &elements[..]));
}

/// What each policy does with a source: the reason for its copy, or the error.
fn with_each_policy<T, Dst, Out, In>(
    make: impl Fn() -> T,
    read: impl Fn(Dst) -> Vec<u8>,
) -> [Result<Option<Reason>, Error>; 3]
where
    T: Export<Out>,
    Dst: Import<In>,
{
    [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always].map(|policy| {
        let Converted { value, copied } = make().convert_with::<Dst>(policy)?;
        assert_eq!(read(value), [1, 2, 3, 4]);
        Ok(copied)
    })
}

#[test]
fn each_policy_copies_or_not_and_says_why() {
    let elements = [1u8, 2, 3, 4];
    let vec = || elements.to_vec();
    let tensor = || Tensor::new(vec(), &[2, 2]).unwrap();
    let boxed = || Tensor::new(vec().into_boxed_slice(), &[2, 2]).unwrap();
    let reversed = || part_of(vec![4u8, 3, 2, 1], DataType::UINT8, (&[4], &[-1], 3));
    let part = || part_of(vec![1u8, 2, 3, 4, 5], DataType::UINT8, (&[4], &[1], 0));
    let read = |tensor: Tensor| tensor.to_vec::<u8>().unwrap();
    let same = |vec: Vec<u8>| vec;
    let requested = Ok(Some(Reason::Requested));
    let required = |reason| Err(Error::CopyRequired { framework: "Vec", reason });
    let borrowed = Reason::Borrowed;

    assert_eq!(with_each_policy(vec, read), [Ok(None), Ok(None), requested.clone()]);
    assert_eq!(with_each_policy(vec, same), [Ok(None), Ok(None), requested.clone()]);
    assert_eq!(with_each_policy(tensor, read), [Ok(None), Ok(None), requested.clone()]);
    assert_eq!(with_each_policy(tensor, same), [Ok(None), Ok(None), requested.clone()]);
    let foreign = Reason::ForeignMemory;
    assert_eq!(with_each_policy(boxed, same), [required(foreign), Ok(Some(foreign)), requested.clone()]);
    let strided = Reason::Strided;
    assert_eq!(with_each_policy(reversed, same), [required(strided), Ok(Some(strided)), requested.clone()]);
    let slice =
        [Err(Error::CopyRequired { framework: "a slice", reason: borrowed }), Ok(Some(borrowed)), requested.clone()];
    assert_eq!(with_each_policy(|| &elements[..], same), slice);
    assert_eq!(with_each_policy(|| &elements[..], read), slice);
    assert_eq!(part().share::<Vec<u8>>().map(|_| None), required(strided));

    let mismatch = Error::DTypeMismatch { expected: DataType::INT8, found: DataType::UINT8 };
    assert_eq!(tensor().route::<Vec<i8>>(), Route::Impossible(mismatch.clone()));
    assert_eq!(tensor().share::<Vec<i8>>(), Err(mismatch.clone()));
    assert_eq!(tensor().convert::<Vec<i8>>(), Err(mismatch.clone()));
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        assert_eq!(tensor().convert_with::<Vec<i8>>(policy).map(drop), Err(mismatch.clone()));
    }
    assert_eq!(tensor().route::<Vec<u8>>(), Route::Shared);
    assert_eq!(tensor().route::<Tensor>(), Route::Shared);
    assert_eq!(boxed().route::<Vec<u8>>(), Route::Copied(foreign));
    assert_eq!(reversed().route::<Vec<u8>>(), Route::Copied(strided));
    assert_eq!(Bridge::<_, _>::route::<Vec<u8>>(&&elements[..]), Route::Copied(borrowed));
    assert_eq!(reversed().convert::<Vec<u8>>(), Ok(vec()));
    assert_eq!(elements[..].convert::<Tensor>().unwrap().flags(), Flags::COPIED);
}

#[test]
fn tensors_are_lent_as_slices() {
    let mut tensor = Tensor::new(vec![1i16, 2, 3, 4], &[2, 2]).unwrap();
    let address = tensor.data();
    let lent: &[i16] = tensor.lend().unwrap();
    assert_eq!((lent.as_ptr().cast(), lent), (address, &[1, 2, 3, 4][..]));
    let lent: &[i16] = tensor.view().lend().unwrap();
    assert_eq!((lent.as_ptr().cast(), lent), (address, &[1, 2, 3, 4][..]));
    let lent: &mut [i16] = tensor.lend_mut().unwrap();
    lent[0] = 10;
    let lent: &mut [i16] = tensor.view_mut().unwrap().lend_mut().unwrap();
    lent[3] = 40;
    assert_eq!(tensor.as_slice::<i16>().unwrap(), [10, 2, 3, 40]);
    assert!(matches!(tensor.lend::<&[u16]>(), Err(Error::DTypeMismatch { .. })));
    assert!(matches!(tensor.lend_mut::<&mut [u16]>(), Err(Error::DTypeMismatch { .. })));
    let mut read_only = tensor.into_read_only();
    assert_eq!(read_only.lend_mut::<&mut [i16]>(), Err(Error::ReadOnly));
    let mut turned = part_of(vec![1u8, 2, 3, 4], DataType::UINT8, (&[2, 2], &[1, 2], 0));
    assert_eq!(turned.lend::<&[u8]>(), Err(Error::NotContiguous));
    assert_eq!(turned.lend_mut::<&mut [u8]>(), Err(Error::NotContiguous));
}

#[test]
fn routes_say_what_would_happen() {
    let error = Error::CopyRequired { framework: "it", reason: Reason::Strided };
    for (route, text, shared) in [
        (Route::Shared, "shared".to_owned(), Ok(())),
        (Route::Copied(Reason::Strided), format!("copied, because {}", Reason::Strided), Err(error)),
        (Route::Impossible(Error::ReadOnly), format!("impossible: {}", Error::ReadOnly), Err(Error::ReadOnly)),
    ] {
        assert_eq!((route.to_string(), route.require_shared("it")), (text, shared));
    }
    assert_eq!(CopyPolicy::default(), CopyPolicy::IfNeeded);
}

#[test]
fn what_is_read_only_is_read_and_nothing_else() {
    // SAFETY: nothing writes through a vector that is borrowed.
    let value = unsafe { ReadOnly::new(vec![1, 2]) };
    assert_eq!((value.len(), format!("{value:?}")), (2, "ReadOnly([1, 2])".to_owned()));
    // SAFETY: nobody shares it.
    assert_eq!(unsafe { value.into_inner() }, [1, 2]);
}

#[test]
fn types_and_devices_of_the_standard_are_their_own_names() {
    let (dtype, device) = (DataType::FLOAT16, Device::cuda(3));
    assert_eq!((dtype.exchange::<DataType>(), device.exchange::<Device>()), (Ok(dtype), Ok(device)));
}
