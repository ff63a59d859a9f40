//! burn's tensors: what is shared, copy-on-write, and what is refused. The names with a letter are those of the project's list
//! of cases.
#![cfg(all(feature = "arrow", feature = "burn", feature = "candle", feature = "ndarray"))]
#![expect(deprecated, reason = "burn has deprecated its backend ndarray; it is still used")]

use std::io::Write;

use burn_flex::{Flex, FlexTensor, Layout};
use burn_ndarray::{NdArray, NdArrayTensor};
use burn_std::{BoolStore, Bytes, DType, Shape, TensorData};
use burn_tensor::{Bool, Device as BurnDevice, Int, Tensor as Burn, activation};
use dlbridge::arrow::arrow_array::{FixedSizeListArray, Float32Array};
use dlbridge::burn::{burn_flex, burn_ndarray, burn_std, burn_tensor, from_host, to_host};
use dlbridge::candle::candle_core::{DType as CandleDType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, Axis, Ix2, array};
use dlbridge::{
    Bridge, CopyPolicy, DataType, Descriptor, Device, Element, Error, Exchange, Flags, Import, Reason, Route, Tensor,
};
use half::{bf16, f16};
use interop_tests::raw::{ABIS, Abi, Producer};

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|n| n as f32 * 0.5 - 3.).collect()
}

fn import(producer: Producer, abi: Abi) -> Tensor {
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    unsafe { producer.import(abi) }.unwrap()
}

/// Where a tensor of burn's has its first element: through its own primitive.
fn data<const D: usize>(tensor: &Burn<D>) -> *const f32 {
    let primitive = tensor.clone().inner().try_into_primitive::<Flex>().unwrap();
    primitive.bytes().as_ptr().cast::<f32>().wrapping_add(primitive.layout().start_offset())
}

fn elements<const D: usize>(tensor: &Burn<D>) -> Vec<f32> {
    tensor.to_data().to_vec().unwrap()
}

#[test]
fn foreign_memory_is_shared_and_released_once() {
    for abi in ABIS {
        let producer = Producer::f32(&[2, 3], &numbers(6));
        let (address, calls) = (producer.memory(), producer.calls());
        let tensor: Burn<2> = import(producer, abi).share().unwrap();
        assert_eq!(data(&tensor).cast(), address);
        let (clone, part, turned) = (tensor.clone(), tensor.clone().slice([0..2, 1..3]), tensor.clone().transpose());
        assert_eq!(data(&part), address.cast::<f32>().wrapping_add(1));
        drop((tensor, clone));
        assert_eq!(elements(&turned), [-3., -1.5, -2.5, -1., -2., -0.5]);
        drop(turned);
        assert_eq!(calls.count(), 0);
        drop(part);
        assert_eq!(calls.count(), 1);
    }
}

#[test]
fn the_first_write_copies_and_lets_go_at_once() {
    let producer = Producer::f32(&[4], &numbers(4));
    let (address, calls) = (producer.memory(), producer.calls());
    let tensor: Burn<1> = import(producer, Abi::Versioned).share().unwrap();
    let sum = tensor + 1.0;
    assert_eq!(calls.count(), 1, "the foreign memory is not needed any more");
    assert_ne!(data(&sum).cast(), address);
    assert_eq!(elements(&(sum * 2.0)), [-4., -3., -2., -1.]);
    // A second handle keeps the memory, and what it shows.
    let producer = Producer::f32(&[4], &numbers(4));
    let calls = producer.calls();
    let tensor: Burn<1> = import(producer, Abi::Versioned).share().unwrap();
    let kept = tensor.clone();
    let sum = tensor + 1.0;
    assert_eq!((calls.count(), elements(&kept)), (0, numbers(4)));
    drop((kept, sum));
    assert_eq!(calls.count(), 1);
}

type Op = fn(Burn<2>) -> Burn<2>;

/// Operations that burn does in place where it can, and some that it does not.
const OPS: &[(&str, Op)] = &[
    ("add a scalar", |t| t + 1.5),
    ("sub a scalar", |t| t - 1.5),
    ("mul a scalar", |t| t * 1.5),
    ("div a scalar", |t| t / 1.5),
    ("add", |t| t.clone().add(t)),
    ("add another", |t| {
        let other = t.ones_like();
        t + other
    }),
    ("sub from another", |t| t.ones_like() - t),
    ("mul another", |t| {
        let other = t.full_like(3.);
        t * other
    }),
    ("div another", |t| {
        let other = t.full_like(3.);
        t / other
    }),
    ("neg", |t| t.neg()),
    ("abs", |t| t.abs()),
    ("exp", |t| t.exp()),
    ("tanh", |t| t.tanh()),
    ("sin", |t| t.sin()),
    ("cos", |t| t.cos()),
    ("floor", |t| t.floor()),
    ("round", |t| t.round()),
    ("sqrt", |t| t.abs().sqrt()),
    ("recip", |t| (t + 10.).recip()),
    ("powf", |t| t.powf_scalar(2.)),
    ("clamp", |t| t.clamp(-1., 1.)),
    ("relu", activation::relu),
    ("sigmoid", activation::sigmoid),
    ("softmax", |t| activation::softmax(t, 1)),
    ("slice_assign", |t| {
        let part = t.clone().slice([0..1, 0..2]) * 7.;
        t.slice_assign([0..1, 0..2], part)
    }),
    ("slice_fill", |t| t.slice_fill([0..1, 0..1], 5.)),
    ("mask_fill", |t| {
        let mask = t.clone().greater_elem(0.);
        t.mask_fill(mask, 9.)
    }),
    ("mask_where", |t| {
        let (mask, other) = (t.clone().greater_elem(0.), t.zeros_like());
        t.mask_where(mask, other)
    }),
    ("sort", |t| t.sort(1)),
    ("sum_dim", |t| t.sum_dim(1)),
    ("mean_dim", |t| t.mean_dim(0)),
    ("max_dim", |t| t.max_dim(1)),
    ("cumsum", |t| t.cumsum(1)),
    ("matmul", |t| t.clone().matmul(t.transpose())),
    ("transpose", |t| t.transpose()),
    ("flip", |t| t.flip([0, 1])),
    ("repeat", |t| t.repeat_dim(0, 2)),
    ("cat", |t| Burn::cat(vec![t.clone(), t], 0)),
    ("select", |t| {
        let indices = Burn::<1, Int>::from_data([1, 0], &t.device());
        t.select(0, indices)
    }),
];

#[test]
fn no_operation_writes_foreign_memory_whatever_the_layout() {
    let memory: ArcArray2<f32> = Array2::from_shape_vec((4, 6), numbers(24)).unwrap().into_shared();
    let pristine = memory.to_owned();
    let flipped = |axis: usize| {
        let mut array = memory.clone();
        array.invert_axis(Axis(axis));
        array
    };
    let layouts: Vec<(&str, ArcArray2<f32>)> = vec![
        ("plain", memory.clone()),
        ("transposed", memory.clone().reversed_axes()),
        ("sliced", memory.clone().slice_move(dlbridge::ndarray::ndarray::s![1..3, 2..5])),
        ("stepped", memory.clone().slice_move(dlbridge::ndarray::ndarray::s![..;2, ..;3])),
        ("rows backwards", flipped(0)),
        ("columns backwards", flipped(1)),
    ];
    assert!(OPS.len() > 20);
    for (layout, array) in layouts {
        for (name, op) in OPS {
            // The only handle of burn's, though not the only one.
            let shared: Burn<2> = array.clone().share().unwrap();
            assert_eq!(data(&shared), array.as_ptr(), "{layout}");
            let copied: Burn<2> = array.clone().convert_with(CopyPolicy::Always).unwrap().value;
            assert_eq!(elements(&op(shared)), elements(&op(copied)), "{layout}, {name}");
            assert_eq!(memory, pristine, "{layout}, {name} has written foreign memory");
        }
    }
}

#[test]
fn broadcast_and_overlapping_memory_reads_as_it_should() {
    // A12: strides are not discarded; A4: those of axes of length 1 may be anything.
    for (shape, strides, expected) in [
        (vec![3, 2], vec![0, 1], vec![0., 1., 0., 1., 0., 1.]),
        (vec![2, 3], vec![1, 1], vec![0., 1., 2., 1., 2., 3.]),
        (vec![2, 2], vec![0, 0], vec![0., 0., 0., 0.]),
        (vec![2, 1], vec![3, i64::MAX], vec![0., 3.]),
    ] {
        let producer = Producer::f32(&shape, &[0., 1., 2., 3.]).strides(&strides);
        let tensor: Burn<2> = import(producer, Abi::Versioned).share().unwrap();
        assert_eq!(elements(&tensor), expected);
        assert_eq!(elements(&(tensor + 1.0)), expected.iter().map(|n| n + 1.).collect::<Vec<_>>());
    }
    let elements: Vec<f32> = (0..54).map(|n| n as f32).collect();
    let producer = Producer::f32(&[2, 3, 3, 3], &elements).strides(&[27, 1, 9, 3]);
    let tensor: Burn<4> = import(producer, Abi::Versioned).share().unwrap();
    let first: Vec<f32> = tensor.slice([0..1, 1..2, 0..1, 0..3]).to_data().to_vec().unwrap();
    assert_eq!(first, [1., 4., 7.]);
}

#[test]
fn scalars_and_empty_tensors() {
    let scalar: Burn<0> = import(Producer::f32(&[], &[42.]), Abi::Legacy).share().unwrap();
    let back: Tensor = scalar.share().unwrap();
    assert_eq!((back.shape(), back.view().get::<f32>(&[])), (&[][..], Ok(42.)));
    let producer = Producer::f32(&[0, 3], &[]).with(|it| it.tensor.data = std::ptr::null_mut());
    let empty: Burn<2> = import(producer, Abi::Versioned).share().unwrap();
    assert_eq!((empty.clone() + 1.0).dims(), [0, 3]);
    assert_eq!(empty.share::<Tensor>().unwrap().shape(), [0, 3]);
}

#[test]
fn an_export_is_a_view_that_burn_does_not_write() {
    let tensor = Burn::<2>::from_data([[1f32, 2., 3.], [4., 5., 6.]], &BurnDevice::flex());
    let address = data(&tensor);
    let turned: Tensor = tensor.clone().transpose().share().unwrap();
    assert_eq!((turned.shape(), turned.data().cast()), (&[3, 2][..], address));
    assert_eq!(turned.strides(), [1, 3]);
    assert!(turned.flags().is_read_only());
    let flipped: Tensor = tensor.clone().flip([1]).share().unwrap();
    assert_eq!(flipped.strides(), [3, -1]);
    assert_eq!(flipped.data().cast(), address.wrapping_add(2));
    let sliced: Tensor = tensor.clone().slice([0..2, 1..3]).share().unwrap();
    assert_eq!(sliced.data().cast(), address.wrapping_add(1));
    let broadcast: Tensor = tensor.clone().slice([0..1, 0..3]).expand([4, 3]).share().unwrap();
    assert_eq!(broadcast.strides(), [0, 1]);

    let written = tensor + 100.0;
    assert_ne!(data(&written), address);
    drop(written);
    assert_eq!(turned.to_vec::<f32>().unwrap(), [1., 4., 2., 5., 3., 6.]);
    assert_eq!(flipped.to_vec::<f32>().unwrap(), [3., 2., 1., 6., 5., 4.]);
    // And back: the same tensor.
    let back: Burn<2> = turned.share().unwrap();
    assert_eq!(data(&back), address);
}

#[test]
fn the_only_handle_goes_out_writable_and_as_its_vector() {
    // Made by burn from a vector: the vector itself, which candle and ndarray take over.
    let tensor = Burn::<2>::from_data(TensorData::new(numbers(6), [2, 3]), &BurnDevice::flex());
    let address = data(&tensor);
    assert_eq!(tensor.route::<Candle>(), Route::Shared);
    let candle: Candle = tensor.share().unwrap();
    assert_eq!((&candle).share::<Tensor>().unwrap().data().cast(), address);
    let back: Burn<2> = candle.share().unwrap(); // candle's memory, read-only
    assert_eq!(data(&back), address);

    // The result of an operation that is a view of all its memory, but no vector in order.
    let tensor = Burn::<2>::from_data(TensorData::new(numbers(6), [2, 3]), &BurnDevice::flex()).transpose();
    let (address, route) = (data(&tensor), tensor.route::<Array2<f32>>());
    assert_eq!(route, Route::Copied(Reason::ForeignMemory));
    let mut shared: Tensor = tensor.share().unwrap();
    assert_eq!((shared.data().cast(), shared.flags()), (address, Flags::empty()));
    shared.view_mut().unwrap().set::<f32>(&[0, 1], 9.).unwrap();
    let back: Burn<2> = shared.share().unwrap();
    assert_eq!((data(&back), elements(&back)[1]), (address, 9.));

    // Two handles, or memory that is shared behind the scenes: read-only, as announced.
    let tensor = Burn::<1>::from_data(TensorData::new(numbers(6), [6]), &BurnDevice::flex());
    let kept = tensor.clone();
    assert_eq!(tensor.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    assert!(tensor.share::<Tensor>().unwrap().flags().is_read_only());
    drop(kept);
    let bytes = Bytes::from_elems(numbers(6)).shared();
    let again = bytes.clone();
    let primitive = FlexTensor::new(bytes, Layout::contiguous(Shape::from(vec![6])), DType::F32);
    assert_eq!(primitive.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let tensor: Tensor = primitive.share().unwrap();
    assert_eq!((tensor.data(), tensor.flags()), (again.as_ptr(), Flags::READ_ONLY));

    // A vector comes in as itself, too.
    let vec = numbers(6);
    let address = vec.as_ptr();
    let tensor: Burn<1> = vec.share().unwrap();
    assert_eq!(data(&tensor), address);
    let vec: Vec<f32> = tensor.share().unwrap();
    assert_eq!(vec.as_ptr(), address);
}

#[test]
fn what_burn_does_to_bytes_leaves_foreign_memory_alone() {
    let producer = Producer::f32(&[6], &numbers(6));
    let (address, calls) = (producer.memory(), producer.calls());
    let primitive: FlexTensor = import(producer, Abi::Versioned).share().unwrap();
    let bytes = burn_std::sync::Arc::try_unwrap({
        let bytes = primitive.data_arc();
        drop(primitive);
        bytes
    })
    .unwrap();
    // Views and clones are the same memory, until they are written.
    let part = bytes.view(8, 24).unwrap();
    let mut clone = bytes.clone();
    assert_eq!((part.as_ptr(), clone.as_ptr()), (address.wrapping_add(8), address));
    assert!(bytes.view(8, 25).is_err() && bytes.view(9, 8).is_err());
    clone[0] = 99;
    assert_ne!(clone.as_ptr(), address);
    assert_eq!((clone[0], bytes[0]), (99, (-3f32).to_ne_bytes()[0]));
    clone.extend_from_byte_slice(&[1, 2, 3, 4]);
    assert_eq!((clone.len(), &clone[24..]), (28, &[1, 2, 3, 4][..]));
    // What is not read as a vector is none.
    let bytes = bytes.try_into_vec::<f32>().unwrap_err();
    for policy in [burn_std::SplitPolicy::Shared, burn_std::SplitPolicy::Owned] {
        let (left, right) = bytes.clone().split(8, policy).unwrap();
        assert_eq!((&left[..], &right[..]), (&bytes[..8], &bytes[8..]));
    }
    drop(bytes);
    assert_eq!(calls.count(), 0);
    drop(part);
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_copy_on_write_is_burns_own() {
    let (memory, read_only) = (std::sync::Arc::<[f32]>::from(numbers(4)), Route::Copied(Reason::ForeignMemory));
    let tensor: Burn<1> = memory.clone().share().unwrap();
    assert!((&tensor).share::<Tensor>().unwrap().flags().is_read_only());
    let sum = tensor + 1.0;
    assert_eq!(sum.route::<Candle>(), read_only);
    let shared: Tensor = sum.share().unwrap();
    assert_eq!((shared.flags(), &memory[..]), (Flags::empty(), &numbers(4)[..]));
    // burn allocates some results for any type, so that they are no vector of theirs: writable, and copied to candle.
    let tensor = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &BurnDevice::flex());
    let product = tensor.clone().matmul(tensor);
    assert_eq!(product.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    assert!(!product.share::<Tensor>().unwrap().flags().is_read_only());
    // Elements that share memory are nobody's to write, even if there is no other handle.
    let broadcast = Burn::<2>::from_data([[1f32, 2.]], &BurnDevice::flex()).expand([3, 2]);
    let shared: Tensor = broadcast.share().unwrap();
    assert!(shared.flags().is_read_only());
    // With autodiff, too, the only handle is the only handle.
    let tracked = Burn::<1>::from_data(TensorData::new(numbers(4), [4]), &BurnDevice::flex().autodiff());
    assert_eq!(tracked.route::<Candle>(), Route::Shared);
    assert!(tracked.share::<Vec<f32>>().is_ok());
}

#[test]
fn every_pair_with_the_other_adapters() {
    let array = array![[1f32, 2., 3.], [4., 5., 6.]];
    let address = array.as_ptr();
    let burn: Burn<2> = array.share().unwrap();
    assert_eq!(data(&burn), address);
    let candle = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap().reshape((2, 3)).unwrap();
    let shared: Burn<2> = (&candle).share().unwrap();
    assert_eq!(data(&shared).cast(), (&candle).share::<Tensor>().unwrap().data());
    assert_eq!(elements(&(shared + 1.0)), [1., 2., 3., 4., 5., 6.]);
    assert_eq!(candle.get(1).unwrap().to_vec1::<f32>().unwrap(), [3., 4., 5.]); // F1: not overwritten
    let column = Float32Array::from(vec![1., 2., 3.]);
    let shared: Burn<1> = (&column).share().unwrap();
    assert_eq!(data(&shared), column.values().as_ptr());

    let owned: Owned<f32, Ix2> = (&burn).share().unwrap();
    assert_eq!(owned.as_ptr(), address);
    let lists: FixedSizeListArray = (&burn).share().unwrap();
    assert_eq!(lists.value_length(), 3);
    let candle = (&burn).convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(candle.copied, Some(Reason::ForeignMemory));
    drop((owned, lists));
    let array: Array2<f32> = burn.share().unwrap(); // the vector that it all began with
    assert_eq!(array.as_ptr(), address);
}

/// The tensor has these elements, of just this type.
fn same<T: Element + PartialEq>(tensor: &Tensor, elements: &[T]) -> Result<(), Error> {
    tensor.as_slice::<T>().map(|found| assert!(found == elements))
}

#[test]
fn every_type_arrives_as_it_is() {
    macro_rules! kinds {
        ($($kind:ty: $($elements:expr => $dtype:expr),+;)*) => {$($(
            let elements = $elements;
            let tensor: Burn<1, $kind> = elements.clone().share().unwrap();
            assert_eq!(tensor.dtype(), $dtype);
            assert_eq!(tensor.dtype().exchange::<DataType>().unwrap().exchange::<DType>().unwrap(), $dtype);
            assert_eq!(same(&tensor.share().unwrap(), &elements), Ok(()));
        )+)*};
    }
    kinds! {
        burn_tensor::Float: vec![f16::ONE, f16::ZERO] => DType::F16, vec![bf16::ONE] => DType::BF16,
            vec![1f32, 2.] => DType::F32, vec![1f64, 2.] => DType::F64;
        Int: vec![1i8] => DType::I8, vec![1i16] => DType::I16, vec![1i32] => DType::I32, vec![1i64] => DType::I64,
            vec![1u8] => DType::U8, vec![1u16] => DType::U16, vec![1u32] => DType::U32, vec![1u64] => DType::U64;
        Bool: vec![true, false] => DType::Bool(BoolStore::Native);
    }
    // E1: a boolean is no byte, in whatever store it is.
    let bytes =
        FlexTensor::from_data(TensorData::from_bytes(Bytes::from_elems(vec![1u8, 0]), [2], DType::Bool(BoolStore::U8)));
    let tensor: Tensor = (&bytes).share().unwrap();
    assert_eq!((tensor.dtype(), tensor.to_vec::<bool>().unwrap()), (DataType::BOOL, vec![true, false]));
    assert_eq!(DType::Flex32.exchange(), Ok(DataType::FLOAT32));
    let words = DType::Bool(BoolStore::U32).exchange::<DataType>().unwrap_err();
    assert!(words.to_string().contains("booleans of four bytes"), "{words}");
    assert_eq!(BurnDevice::flex().exchange(), Ok(Device::CPU));
    assert_eq!(Device::CPU.exchange::<BurnDevice>(), Ok(BurnDevice::flex()));
    assert!(matches!(Device::cuda(0).exchange::<BurnDevice>(), Err(Error::UnsupportedDevice { .. })));
    assert_eq!(CandleDType::BF16.exchange::<DType>(), Ok(DType::BF16));
}

#[test]
fn quantized_tensors_are_refused_by_name() {
    use burn_std::{QuantScheme, QuantValue};
    let tensor = Burn::<2>::from_data(TensorData::new(vec![0f32; 32], [1, 32]), &BurnDevice::flex());
    let quantized = tensor.quantize_dynamic(&QuantScheme::default().with_value(QuantValue::Q8S));
    let error = (&quantized).share::<Tensor>().unwrap_err();
    assert!(error.to_string().contains("quantized floats"), "{error}");
    assert!(matches!(quantized.route::<Tensor>(), Route::Impossible(_)));
    assert!(matches!(to_host(&quantized), Err(Error::Inexpressible { .. })));
}

#[test]
fn rank_and_kind_are_checked_before_burn_sees_them() {
    let tensor = || Tensor::new(numbers(4), &[2, 2]).unwrap();
    assert_eq!(tensor().share::<Burn<3>>().unwrap_err(), Error::NdimMismatch { expected: 3, found: 2 });
    let error = tensor().share::<Burn<2, Int>>().unwrap_err();
    assert_eq!(error, Error::UnsupportedDType { framework: "burn::Tensor<_, Int>", dtype: DataType::FLOAT32 });
    assert!(vec![1i32].share::<Burn<1>>().is_err());
    assert!(vec![true].share::<Burn<1, Int>>().is_err());
    assert!(vec![1u8].share::<Burn<1, Bool>>().is_err());
    for dtype in DataType::ALL.iter().filter(|dtype| (**dtype).exchange::<DType>().is_err()) {
        let memory = [0u128; 4];
        let tensor = Descriptor::new(memory.as_ptr().cast(), *dtype, Device::CPU, Flags::empty(), &[2], None).unwrap();
        let error = Error::UnsupportedDType { framework: "burn", dtype: *dtype };
        assert_eq!(FlexTensor::plan(&tensor), Route::Impossible(error));
    }
    let producer = Producer::f32(&[4], &numbers(4)).device(Device::cuda(0));
    let calls = producer.calls();
    let error = import(producer, Abi::Versioned).convert::<Burn<1>>().unwrap_err();
    assert_eq!((error, calls.count()), (Error::NotOnHost { device: Device::cuda(0) }, 1));
}

#[test]
fn c3_misaligned_memory_and_bad_booleans_never_reach_burn() {
    let misaligned = || Producer::f32(&[2], &[0., 1., 2.]).with(|it| it.tensor.byte_offset = 2);
    assert_eq!(import(misaligned(), Abi::Versioned).route::<Burn<1>>(), Route::Copied(Reason::Misaligned { align: 4 }));
    assert!(import(misaligned(), Abi::Versioned).share::<Burn<1>>().is_err());
    let copied: Burn<1> = import(misaligned(), Abi::Versioned).convert().unwrap();
    assert_eq!((copied + 1.0).dims(), [2]);
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let producer = Producer::new(DataType::BOOL, &[4], &[0, 1, 2, 1]);
        let calls = producer.calls();
        let error = import(producer, Abi::Versioned).convert_with::<Burn<1, Bool>>(policy).unwrap_err();
        assert_eq!((error, calls.count()), (Error::InvalidBool { index: 2, value: 2 }, 1));
    }
}

#[test]
fn layouts_beyond_their_memory_are_refused() {
    // Safe code can make these, and burn would read out of bounds.
    let tensor = |shape: Vec<usize>, strides: Vec<isize>, start| {
        FlexTensor::new(Bytes::from_elems(numbers(6)), Layout::new(Shape::from(shape), strides, start), DType::F32)
    };
    for (shape, strides, start) in [
        (vec![7], vec![1], 0),
        (vec![6], vec![1], 1),
        (vec![2], vec![-1], 0),
        (vec![2, 4], vec![3, 1], 0),
        (vec![2], vec![isize::MAX], 0),
        (vec![usize::MAX, 2], vec![0, 0], 0),
    ] {
        let tensor = tensor(shape, strides, start);
        let error = (&tensor).share::<Tensor>().unwrap_err();
        assert!(matches!(error, Error::OutOfStorage { .. } | Error::Overflow { .. }), "{error}");
        assert_eq!(tensor.route::<Tensor>(), Route::Impossible(error));
    }
    assert_eq!(tensor(vec![3], vec![-2], 5).share::<Tensor>().unwrap().to_vec::<f32>().unwrap(), [-0.5, -1.5, -2.5]);
}

#[test]
fn bytes_that_are_not_there_yet_are_a_copy() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    numbers(4).iter().for_each(|number| file.write_all(&number.to_ne_bytes()).unwrap());
    let bytes = Bytes::from_file(file.path(), 16, 0);
    let tensor = FlexTensor::new(bytes, Layout::contiguous(Shape::from(vec![4])), DType::F32);
    assert_eq!(tensor.route::<Tensor>(), Route::Copied(Reason::Lazy));
    let error = Error::CopyRequired { framework: "burn", reason: Reason::Lazy };
    assert_eq!((&tensor).share::<Tensor>().unwrap_err(), error);
    assert_eq!(tensor.convert::<Vec<f32>>().unwrap(), numbers(4));
}

#[test]
fn autodiff_shares_the_tensor_inside() {
    let device = BurnDevice::flex().autodiff();
    let tensor = Burn::<2>::from_data([[1f32, 2.], [3., 4.]], &device);
    let address = data(&tensor);
    let shared: Tensor = (&tensor).share().unwrap();
    assert_eq!(shared.data().cast(), address);
    assert_eq!(device.exchange(), Ok(Device::CPU));
    // An import onto the tape, and backward through it.
    let producer = Producer::f32(&[2, 2], &[1., 2., 3., 4.]);
    let (address, calls) = (producer.memory(), producer.calls());
    let inputs = import(producer, Abi::Versioned).share::<Burn<2>>().unwrap().autodiff().require_grad();
    assert_eq!(data(&inputs).cast(), address);
    let gradients = (inputs.clone() * inputs.clone()).sum().backward();
    assert_eq!(elements(&inputs.grad(&gradients).unwrap()), [2., 4., 6., 8.]);
    drop((inputs, gradients));
    assert_eq!(calls.count(), 1);
}

#[test]
fn any_backend_goes_through_host_memory_by_name() {
    for device in [BurnDevice::flex(), BurnDevice::ndarray()] {
        let tensor = Tensor::new(numbers(6), &[2, 3]).unwrap();
        let there: Burn<2> = from_host(&tensor.view(), &device).unwrap();
        assert_eq!(there.device(), device);
        let back = to_host(&there.transpose()).unwrap();
        assert_eq!(back.shape(), [3, 2]);
        assert_eq!(back.to_vec::<f32>().unwrap(), [-3., -1.5, -2.5, -1., -2., -0.5]);
        let error = from_host::<3, burn_tensor::Float>(&tensor.view(), &device).unwrap_err();
        assert_eq!(error, Error::NdimMismatch { expected: 3, found: 2 });
    }
    let truth = Tensor::new(vec![true, false], &[2]).unwrap();
    let there: Burn<1, Bool> = from_host(&truth.view(), &BurnDevice::flex()).unwrap();
    assert_eq!(to_host(&there).unwrap().as_slice::<bool>().unwrap(), [true, false]);
    let words = TensorData::from_bytes(Bytes::from_elems(vec![1u32, 0]), [2], DType::Bool(BoolStore::U32));
    assert_eq!(words.convert_dtype(DType::Bool(BoolStore::Native)).bytes()[..], [1, 0]);
    let scalar = Tensor::new(vec![1f32], &[]).unwrap();
    let error = from_host::<0, burn_tensor::Float>(&scalar.view(), &BurnDevice::flex()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    let halves = Tensor::new(vec![f16::ONE; 2], &[2]).unwrap();
    let error = from_host::<1, burn_tensor::Float>(&halves.view(), &BurnDevice::ndarray()).unwrap_err();
    assert!(matches!(error, Error::UnsupportedDType { dtype: DataType::FLOAT16, .. }), "{error}");
    let elsewhere = Burn::<1>::from_data([1f32], &BurnDevice::ndarray());
    let error = (&elsewhere).share::<Tensor>().unwrap_err();
    assert!(error.to_string().contains("to_host"), "{error}");
    assert!(elsewhere.convert::<Tensor>().is_err());
}

#[test]
fn the_backend_ndarray_borrows_and_hands_over_arrays() {
    let producer = Producer::f32(&[2, 3], &numbers(6));
    let (address, calls) = (producer.memory(), producer.calls());
    let primitive: NdArrayTensor = import(producer, Abi::Versioned).share().unwrap();
    assert!(primitive.is_borrowed());
    let tensor = Burn::<2>::from_primitive::<NdArray>(primitive);
    let back = tensor.clone().try_into_primitive::<NdArray>().unwrap().share::<Tensor>().unwrap();
    assert_eq!((back.data(), back.flags()), (address, Flags::READ_ONLY));
    drop(back);
    assert_eq!(elements(&(tensor + 1.0)), [-2., -1.5, -1., -0.5, 0., 0.5]);
    assert_eq!(calls.count(), 1);
    // An array of its own goes out as arrays do, strides and all.
    let tensor = Burn::<2>::from_data([[1f32, 2., 3.], [4., 5., 6.]], &BurnDevice::ndarray()).transpose();
    let tensor: Tensor = tensor.try_into_primitive::<NdArray>().unwrap().share().unwrap();
    assert_eq!(tensor.strides(), [1, 3]);
    assert!(!tensor.flags().is_read_only());
    // Bytes that burn's clone copies are not shared behind the caller's back.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    numbers(4).iter().for_each(|number| file.write_all(&number.to_ne_bytes()).unwrap());
    let data = TensorData::from_bytes(Bytes::from_file(file.path(), 16, 0), [4], DType::F32);
    let primitive = NdArrayTensor::from_data(data);
    assert_eq!(Bridge::<_, _>::route::<Tensor>(&&primitive), Route::Copied(Reason::Borrowed));
    assert!((&primitive).share::<Tensor>().is_err());
    assert_eq!((&primitive).convert::<Vec<f32>>().unwrap(), numbers(4));
    assert_eq!(primitive.share::<Tensor>().unwrap().to_vec::<f32>().unwrap(), numbers(4));
    // A vector becomes its array.
    let vec = numbers(6);
    let address = vec.as_ptr();
    let primitive: NdArrayTensor = vec.share().unwrap();
    assert!(!primitive.is_borrowed());
    assert_eq!(primitive.share::<Tensor>().unwrap().data().cast(), address);
}

#[test]
fn d7_tensors_are_used_and_dropped_on_any_thread() {
    let producer = Producer::f32(&[1024], &[1.; 1024]);
    let calls = producer.calls();
    let tensor: Burn<1> = import(producer, Abi::Versioned).share().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let tensor = tensor.clone();
            std::thread::spawn(move || (tensor + 1.0).sum().into_scalar::<f32>())
        })
        .collect();
    drop(tensor);
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 2048.));
    assert_eq!(calls.count(), 1);
}
