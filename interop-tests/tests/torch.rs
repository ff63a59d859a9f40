//! What only libtorch can get wrong: handles that share a storage, sealed memory, lazy views, scalar types without a
//! name in tch.
#![cfg(feature = "tch")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use dlbridge::candle::candle_core::{DType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{Array2, Ix1, Ix2, array};
use dlbridge::tch::{data_ptr, export_shared, tch};
use dlbridge::{
    Bridge, CopyPolicy, DataType, Device, DeviceType, Element, Error, Exchange, Export, Flags, ReadOnly, Reason, Route,
    Tensor,
};
use interop_tests::raw::{Abi, Producer};
use tch::{IndexOp, Kind, Tensor as Torch};

const CPU: (Kind, tch::Device) = (Kind::Float, tch::Device::Cpu);

fn torch(len: i64) -> Torch {
    Torch::arange(len, CPU)
}

/// A well-formed tensor from C.
fn import(producer: Producer) -> Tensor {
    // SAFETY: over its own memory, which nobody else uses.
    unsafe { producer.import(Abi::Versioned) }.unwrap()
}

fn copy_required<T>(reason: Reason) -> Result<T, Error> {
    Err(Error::CopyRequired { framework: "tch", reason })
}

#[test]
fn candle_and_libtorch_use_the_same_memory() {
    let base = Candle::arange(0f32, 24., &CandleDevice::Cpu).unwrap().reshape((2, 3, 4)).unwrap();
    let layouts = [
        base.clone(),
        base.t().unwrap(),
        base.narrow(1, 1, 2).unwrap(),
        base.narrow(0, 1, 1).unwrap().broadcast_as((5, 3, 4)).unwrap(),
        base.i(0).unwrap(),
        base.flatten_all().unwrap().get(7).unwrap(),
        base.narrow(0, 0, 0).unwrap(),
    ];
    use dlbridge::candle::candle_core::IndexOp as _;
    for candle in layouts {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::U8, DType::U32, DType::I64] {
            let candle = candle.to_dtype(dtype).unwrap();
            let exported: Tensor = (&candle).share().unwrap();
            let torch: ReadOnly<Torch> = (&candle).share().unwrap();
            assert_eq!(torch.size(), exported.shape());
            if candle.elem_count() > 0 {
                assert_eq!(data_ptr(&torch).unwrap(), exported.data());
            }
            let elements: Vec<f64> = torch.to_kind(Kind::Double).convert().unwrap();
            let candle = candle.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
            assert_eq!(elements, candle);
        }
    }
}

#[test]
fn a1_negative_strides_are_copied_and_do_not_abort() {
    let reversed = || array![[1f64, 2.], [3., 4.], [5., 6.]].slice_move(dlbridge::ndarray::ndarray::s![.., ..;-1]);
    assert_eq!(reversed().route::<Torch>(), Route::Copied(Reason::NegativeStrides));
    assert_eq!(reversed().share::<Torch>().err(), copy_required::<()>(Reason::NegativeStrides).err());
    let torch: Torch = reversed().convert().unwrap();
    assert_eq!(torch.double_value(&[2, 0]), 6.);
}

#[test]
fn a_misaligned_tensor_is_copied() {
    let misaligned = || import(Producer::new(DataType::FLOAT32, &[2], &[0; 12]).with(|it| it.tensor.byte_offset = 2));
    assert_eq!(misaligned().share::<Torch>().err(), copy_required::<()>(Reason::Misaligned { align: 4 }).err());
    let copied = misaligned().convert_with::<Torch>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(copied.copied, Some(Reason::Misaligned { align: 4 }));
}

#[test]
fn a_sealed_tensor_can_be_read_by_libtorch() {
    let candle = Candle::arange(0f32, 12., &CandleDevice::Cpu).unwrap().reshape((3, 4)).unwrap();
    let sealed: ReadOnly<Torch> = (&candle).share().unwrap();
    let plain = torch(12).reshape([3, 4]);
    let image = |t: &Torch| t.reshape([1, 1, 3, 4]);
    type Operation<'a> = (&'a str, Box<dyn Fn(&Torch) -> Torch + 'a>);
    let operations: Vec<Operation<'_>> = vec![
        ("add", Box::new(|t| t + 1.)),
        ("mul", Box::new(|t| t * t)),
        ("matmul", Box::new(|t| t.matmul(&t.tr()))),
        ("transposed matmul", Box::new(|t| t.tr().matmul(t))),
        ("linear", Box::new(|t| t.linear(t, None::<&Torch>))),
        ("sum", Box::new(|t| t.sum(Kind::Float))),
        ("mean", Box::new(|t| t.mean_dim(1, false, Kind::Float))),
        ("softmax", Box::new(|t| t.softmax(-1, Kind::Float))),
        ("layer norm", Box::new(|t| t.layer_norm([4], None::<&Torch>, None::<&Torch>, 1e-5, false))),
        ("conv", Box::new(|t| image(t).conv2d(&image(t).narrow(2, 0, 2), None::<&Torch>, [1], [0], [1], 1))),
        ("pool", Box::new(|t| image(t).max_pool2d([2], [1], [0], [1], false))),
        ("relu", Box::new(Torch::relu)),
        ("exp", Box::new(Torch::exp)),
        ("index", Box::new(|t| t.index_select(0, &Torch::from_slice(&[2i64, 0])))),
        ("gather", Box::new(|t| t.gather(1, &Torch::zeros([3, 1], (Kind::Int64, tch::Device::Cpu)), false))),
        ("cat", Box::new(|t| Torch::cat(&[t, t], 0))),
        ("stack", Box::new(|t| Torch::stack(&[t, t], 0))),
        ("cumsum", Box::new(|t| t.cumsum(0, Kind::Float))),
        ("sort", Box::new(|t| t.sort(1, true).0)),
        ("argmax", Box::new(|t| t.argmax(1, false).to_kind(Kind::Float))),
        ("where", Box::new(|t| t.where_self(&t.gt(3.), &Torch::from(0f32)))),
        ("to double", Box::new(|t| t.to_kind(Kind::Double))),
        ("copy", Box::new(Torch::copy)),
        ("contiguous transpose", Box::new(|t| t.tr().contiguous())),
        ("norm", Box::new(Torch::norm)),
        ("unfold", Box::new(|t| image(t).im2col([2, 2], [1, 1], [0, 0], [1, 1]))),
        ("einsum", Box::new(|t| Torch::einsum("ij,kj->ik", &[t, t], None::<i64>))),
        ("fft", Box::new(|t| t.fft_fft(None, -1, "backward").abs())),
        ("svd", Box::new(|t| t.svd(true, true).1)),
        ("embedding", Box::new(|t| Torch::embedding(t, &Torch::from_slice(&[1i64, 1]), -1, false, false))),
        ("bmm", Box::new(|t| t.unsqueeze(0).bmm(&t.tr().unsqueeze(0)))),
        (
            "batch norm",
            Box::new(|t| {
                t.batch_norm(None::<&Torch>, None::<&Torch>, None::<&Torch>, None::<&Torch>, true, 0.1, 1e-5, false)
            }),
        ),
        ("upsample", Box::new(|t| image(t).upsample_bilinear2d([6, 8], false, None, None))),
        ("cdist", Box::new(|t| Torch::cdist(t, t, 2., None))),
    ];
    for (name, operation) in operations {
        let result = catch_unwind(AssertUnwindSafe(|| operation(&sealed)));
        let Ok(result) = result else { panic!("{name} does not run on a sealed tensor") };
        assert!(result.allclose(&operation(&plain), 1e-5, 1e-6, true), "{name}");
    }
    assert!(format!("{sealed:?}").contains("Float"));
    assert_eq!(sealed.double_value(&[1, 1]), 5.);
    assert_eq!(sealed.i((1, 1)).double_value(&[]), 5.);
    assert!(sealed.to_string(80).unwrap().contains("11"));
}

#[test]
fn f1_a_sealed_tensor_cannot_be_written_by_any_safe_call() {
    let candle = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap();
    let sealed: ReadOnly<Torch> = (&candle).share().unwrap();
    // A plain handle is all it takes to write in libtorch; a sealed storage refuses that.
    let alias = || sealed.shallow_clone();
    let other = torch(6);
    type Write<'a> = (&'a str, Box<dyn Fn() -> Result<Torch, tch::TchError> + 'a>);
    let writes: Vec<Write<'_>> = vec![
        ("fill_", Box::new(|| alias().f_fill_(9.))),
        ("fill_ from a tensor", Box::new(|| alias().f_fill_tensor_(&Torch::from(9f32)))),
        ("zero_", Box::new(|| alias().f_zero_())),
        ("add_", Box::new(|| alias().f_add_(&other))),
        ("mul_", Box::new(|| alias().f_mul_(&other))),
        ("relu_", Box::new(|| alias().f_relu_())),
        ("clamp_", Box::new(|| alias().f_clamp_(0., 1.))),
        ("fill_ of a view", Box::new(|| alias().narrow(0, 1, 2).f_fill_(9.))),
        ("fill_ of a detached tensor", Box::new(|| alias().detach().f_fill_(9.))),
        ("fill_ of a reshaped tensor", Box::new(|| alias().reshape([2, 3]).f_fill_(9.))),
        ("index_fill_", Box::new(|| alias().f_index_fill_(0, &Torch::from_slice(&[0i64]), 9.))),
        ("scatter_", Box::new(|| alias().f_scatter_(0, &Torch::from_slice(&[0i64]), &Torch::from_slice(&[9f32])))),
        ("random_", Box::new(|| alias().f_random_())),
        ("normal_", Box::new(|| alias().f_normal_(0., 1.))),
        ("add out=", Box::new(|| other.f_add_out(&alias(), &other))),
        ("mv out=", Box::new(|| Torch::zeros([6, 6], CPU).f_mv_out(&alias(), &other))),
    ];
    let original = [0., 1., 2., 3., 4., 5.];
    for (name, write) in writes {
        // With a scalar argument tch panics instead of giving libtorch's error back.
        let refused = catch_unwind(AssertUnwindSafe(write)).map_or(true, |result| result.is_err());
        assert!(refused, "{name} was not refused");
        assert_eq!(candle.to_vec1::<f32>().unwrap(), original, "{name} wrote to sealed memory");
    }
    assert!(alias().f_copy_(&other).is_err());
    // A lazy clone would be written in place once it is the only one; libtorch makes none of foreign memory.
    assert!(alias().f_internal_lazy_clone().is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| alias().data_ptr())).is_err());
    assert!(Vec::<f32>::try_from(&*sealed).is_err());
    assert_eq!(candle.to_vec1::<f32>().unwrap(), [0., 1., 2., 3., 4., 5.]);
    // Who wants to write asks for a copy.
    assert_eq!((&candle).share::<Torch>().err(), copy_required::<()>(Reason::ReadOnly).err());
    let mut plain: Torch = (&candle).convert().unwrap();
    let _ = plain.fill_(9.);
    assert_eq!(candle.to_vec1::<f32>().unwrap(), [0., 1., 2., 3., 4., 5.]);
}

#[test]
fn an_alias_of_a_sealed_tensor_goes_out_read_only() {
    let candle = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap();
    let sealed: ReadOnly<Torch> = (&candle).share().unwrap();
    for alias in [sealed.shallow_clone(), sealed.narrow(0, 2, 3), sealed.reshape([2, 3])] {
        let tensor: Tensor = (&alias).share().unwrap();
        assert!(tensor.flags().is_read_only());
        assert_eq!(tensor.data(), data_ptr(&alias).unwrap());
    }
    drop(sealed);
    candle.zero_set().unwrap(); // All exports are gone, and so is the lock.
}

#[test]
fn only_the_last_handle_is_shared_for_writing() {
    let first = torch(6);
    let second = first.shallow_clone();
    assert_eq!(first.route::<Tensor>(), Route::Copied(Reason::NotUnique));
    assert_eq!(first.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(second.route::<Tensor>(), Route::Shared);
    let view = second.narrow(0, 2, 3);
    assert_eq!(view.route::<Tensor>(), Route::Copied(Reason::NotUnique));
    let copied = (&view).convert_with::<Vec<f32>>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((copied.value, copied.copied), (vec![2., 3., 4.], Some(Reason::NotUnique)));
    drop(second);
    // A view keeps its base alive for autograd; if nobody else does, it is the last handle all the same.
    let data = data_ptr(&view).unwrap();
    let tensor: Tensor = view.share().unwrap();
    assert_eq!((tensor.data(), tensor.flags()), (data, Flags::empty()));
    let sliced = tensor.share::<Torch>().unwrap();
    let (head, tail) = (sliced.narrow(0, 0, 1), sliced.narrow(0, 1, 2));
    drop(sliced);
    assert_eq!(head.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert!(tail.share::<Tensor>().is_ok());
}

#[test]
fn a_tensor_in_an_autograd_graph_is_not_shared() {
    let leaf = torch(3).set_requires_grad(true);
    assert_eq!((&leaf).share::<Tensor>().err(), Some(Error::RequiresGrad { framework: "tch" }));
    let squared = &leaf * &leaf;
    assert_eq!(squared.share::<Tensor>().err(), Some(Error::RequiresGrad { framework: "tch" }));
    let saved = torch(3);
    let product = &leaf * &saved; // The graph keeps `saved`.
    assert_eq!(saved.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(product.detach().convert::<Vec<f32>>().unwrap(), [0., 1., 4.]);
}

#[test]
fn e6_lazy_views_are_resolved_in_a_copy() {
    let complex = Torch::complex(&torch(3), &torch(3));
    for (lazy, expected) in [
        (complex.conj(), vec![(0f32, -0f32), (1., -1.), (2., -2.)]),
        (complex.conj().imag(), vec![]),
        (Torch::f_internal_efficientzerotensor([3], CPU).unwrap(), vec![]),
    ] {
        assert_eq!(lazy.route::<Tensor>(), Route::Copied(Reason::Lazy));
        assert_eq!((&lazy).share::<Tensor>().err(), copy_required::<()>(Reason::Lazy).err());
        // SAFETY: nobody writes meanwhile.
        assert_eq!(unsafe { export_shared(&lazy) }.err(), copy_required::<()>(Reason::Lazy).err());
        let tensor: Tensor = (&lazy).convert_with(CopyPolicy::IfNeeded).unwrap().value;
        if !expected.is_empty() {
            let elements: Vec<num_complex::Complex<f32>> = tensor.to_vec().unwrap();
            assert_eq!(elements.iter().map(|it| (it.re, it.im)).collect::<Vec<_>>(), expected);
        }
    }
    let negative: Vec<f32> = complex.conj().imag().convert().unwrap();
    assert_eq!(negative, [0., -1., -2.]);
}

#[test]
fn what_dlpack_cannot_express_is_refused_with_its_name() {
    let dense = torch(6).reshape([2, 3]);
    for (tensor, expected) in [
        (Torch::new(), "an undefined tensor"),
        (dense.to_sparse_sparse_dim(2), "a sparse tensor or one with a layout of its own"),
        (dense.to_mkldnn(), "a sparse tensor or one with a layout of its own"),
        (dense.quantize_per_tensor(0.1, 0, Kind::QInt8), "a quantized tensor"),
    ] {
        let refused = Some(Error::Inexpressible { framework: "tch", what: expected });
        assert_eq!((&tensor).export().err(), refused);
        assert_eq!((&tensor).convert::<Vec<f32>>().err(), refused);
    }
}

#[test]
fn a_tensor_that_outgrew_its_storage_is_refused() {
    // libtorch keeps the new size of a `resize_` that fails, as on memory that it cannot move.
    let memory = [0f32; 6];
    // SAFETY: the memory outlives the tensor.
    let mut torch =
        unsafe { Torch::from_blob(memory.as_ptr().cast(), &[3], &[1], Kind::ComplexFloat, tch::Device::Cpu) };
    assert!(torch.f_resize_([1000]).is_err());
    let refused = Some(Error::OutOfStorage { framework: "tch", needed: 1000, available: 3 });
    assert_eq!((&torch).convert::<Tensor>().err(), refused);
    assert_eq!((&torch.conj()).convert::<Tensor>().err(), refused);
    assert_eq!(data_ptr(&torch).err(), refused);
}

#[test]
fn a_sealed_tensor_that_grows_moves_away_from_the_memory_it_shared() {
    let producer = Producer::f32(&[4], &[7.; 4]);
    let calls = producer.calls();
    let sealed: ReadOnly<Torch> = import(producer).into_read_only().share().unwrap();
    let export: Tensor = (&*sealed).share().unwrap();
    let mut alias = sealed.shallow_clone();
    let _ = alias.resize_([1000]);
    assert_eq!((alias.double_value(&[3]), sealed.numel()), (7., 1000));
    assert!(alias.f_zero_().is_err());
    assert_eq!(export.to_vec::<f32>().unwrap(), [7.; 4]);
    assert_eq!(calls.count(), 0);
    drop(export);
    assert_eq!(calls.count(), 1);
}

#[test]
fn memory_that_is_shared_behind_the_storage_is_not_unique() {
    // Copy-on-write clones have a storage each, and one memory.
    let (first, second) = (torch(6), torch(6));
    let clone = first.internal_lazy_clone();
    // SAFETY: nobody writes meanwhile.
    assert_eq!(unsafe { export_shared(&first) }.err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(first.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(clone.convert::<Vec<f32>>().unwrap(), [0., 1., 2., 3., 4., 5.]);
    // A mapped file has as many storages as it is mapped.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers");
    std::fs::write(&file, [0u8; 24]).unwrap();
    let map = || Torch::from_file(file.to_str().unwrap(), true, 6, CPU);
    let (one, _other) = (map(), map());
    assert_eq!(one.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert!(second.share::<Tensor>().is_ok());
}

#[test]
fn axes_of_length_one_do_not_pass_for_another_memory_format() {
    // A batch of grey images, as from MNIST: channels-last strides would be valid, too, and spread through the model.
    let images: Torch =
        Tensor::new(vec![0f32; 2 * 28 * 28], &[2, 1, 28, 28]).map_err(Error::from).unwrap().share().unwrap();
    assert_eq!(images.stride(), [784, 784, 28, 1]);
    let kernel = Torch::zeros([3, 1, 5, 5], CPU);
    let features = images.conv2d(&kernel, None::<&Torch>, [1], [0], [1], 1);
    assert!(features.is_contiguous());
    assert_eq!(features.view([2, -1]).size(), [2, 3 * 24 * 24]);
    let odd = import(Producer::f32(&[1, 3, 1], &[0., 1., 2.]).strides(&[-200, 1, 77]));
    assert_eq!(odd.share::<Torch>().unwrap().stride(), [3, 1, 1]);
}

#[test]
fn b5_strides_of_empty_tensors_do_not_count() {
    for (shape, strides) in [([0, 3], [i64::MAX, i64::MIN]), ([3, 0], [i64::MIN, i64::MAX])] {
        let torch: Torch = import(Producer::f32(&shape, &[]).strides(&strides)).share().unwrap();
        assert_eq!((torch.size(), torch.is_contiguous()), (shape.to_vec(), true));
    }
}

#[test]
fn a_description_does_not_follow_its_source() {
    let torch = Torch::zeros([1, 1, 1, 1, 1, 1, 7], CPU);
    let mut alias = torch.shallow_clone();
    let shape = torch.describe(|tensor, _| {
        let _ = alias.squeeze_();
        tensor.shape().to_vec()
    });
    assert_eq!(shape.unwrap(), [1, 1, 1, 1, 1, 1, 7]);
}

#[test]
fn padded_sub_byte_elements_are_refused() {
    let dtype = DataType::FLOAT4_E2M1FN.with_lanes(2);
    let packed = import(Producer::new(dtype, &[2], &[0x21, 0x43]));
    let torch: Torch = packed.share().unwrap();
    assert_eq!(torch.share::<Tensor>().unwrap().dtype(), dtype);
    let padded = import(Producer::new(dtype, &[2], &[1, 2, 3, 4]).flags(Flags::PADDED.bits()));
    assert!(matches!(padded.convert::<Torch>(), Err(Error::Unsupported { framework: "tch", .. })));
}

#[test]
fn an_export_does_not_follow_its_source() {
    let mut torch = torch(6).reshape([2, 3]);
    // SAFETY: nobody writes meanwhile.
    let export = unsafe { export_shared(&torch) }.unwrap();
    let _ = torch.t_();
    assert_eq!(export.shape(), [2, 3]);
    torch.set_data(&Torch::zeros([2], CPU));
    assert_eq!(export.to_vec::<f32>().unwrap(), [0., 1., 2., 3., 4., 5.]);
}

#[test]
fn a_writable_import_may_grow_and_lets_go_of_foreign_memory() {
    let producer = Producer::f32(&[4], &[7.; 4]);
    let calls = producer.calls();
    let mut torch: Torch = import(producer).share().unwrap();
    let view = torch.narrow(0, 1, 2);
    let _ = torch.resize_([1000]);
    assert_eq!((torch.double_value(&[3]), view.double_value(&[0])), (7., 7.));
    assert_eq!(calls.count(), 1);
    drop((torch, view));
    assert_eq!(calls.count(), 1);
}

#[test]
fn the_deleter_runs_after_the_last_view_on_whatever_thread() {
    let producer = Producer::f32(&[4, 4], &[1.; 16]);
    let calls = producer.calls();
    let torch: Torch = import(producer).share().unwrap();
    let view = torch.narrow(0, 1, 2).transpose(0, 1);
    drop(torch);
    assert_eq!(calls.count(), 0);
    std::thread::spawn(move || drop(view)).join().unwrap();
    assert_eq!(calls.count(), 1);
    // In a graph of autograd.
    let producer = Producer::f32(&[4], &[1.; 4]);
    let calls = producer.calls();
    let torch = import(producer).share::<Torch>().unwrap().set_requires_grad(true);
    let sum = (&torch * &torch).sum(Kind::Float);
    drop(torch);
    assert_eq!(calls.count(), 0);
    drop(sum);
    assert_eq!(calls.count(), 1);
    // Refused.
    let producer = Producer::new(DataType::FLOAT6_E2M3FN, &[4], &[0; 3]);
    let calls = producer.calls();
    assert!(import(producer).share::<Torch>().is_err());
    assert_eq!(calls.count(), 1);
}

#[test]
fn libtorch_results_are_read_by_everybody_without_a_copy() {
    let result = torch(6).reshape([2, 3]) * 2.;
    let data = data_ptr(&result).unwrap();
    let mut array: Owned<f32, Ix2> = result.share().unwrap();
    assert_eq!(array.as_ptr().cast(), data);
    array.view_mut().unwrap()[[0, 0]] = 5.;
    let back: Torch = array.share().unwrap();
    assert_eq!((data_ptr(&back).unwrap(), back.double_value(&[0, 0])), (data, 5.));
    let array: Array2<f32> = back.convert().unwrap();
    assert_eq!(array, array![[5., 2., 4.], [6., 8., 10.]]);
}

#[test]
fn e4_types_without_a_kind_go_both_ways() {
    fn there_and_back<T: Element + PartialEq + std::fmt::Debug>(elements: Vec<T>) {
        assert!(matches!(T::DTYPE.exchange::<Kind>(), Err(Error::UnsupportedDType { framework: "tch", .. })));
        let data = elements.as_ptr();
        let torch: Torch = elements.clone().share().unwrap();
        assert!(torch.f_kind().is_err());
        let tensor: Tensor = torch.share().unwrap();
        assert_eq!((tensor.dtype(), tensor.to_vec::<T>()), (T::DTYPE, Ok(elements)));
        assert_ne!(tensor.data(), data.cast());
    }
    there_and_back(vec![1u16, u16::MAX]);
    there_and_back(vec![1u32, u32::MAX]);
    there_and_back(vec![1u64, u64::MAX]);
    // candle's u32 is libtorch's, not a signed one.
    let candle = Candle::from_vec(vec![u32::MAX], 1, &CandleDevice::Cpu).unwrap();
    let sealed: ReadOnly<Torch> = candle.share().unwrap();
    assert_eq!(sealed.convert::<Vec<u32>>().unwrap(), [u32::MAX]);
}

#[test]
fn e1_booleans_made_from_bytes_are_checked() {
    let hostile = Torch::from_data_size(&[0, 2], &[2], Kind::Bool);
    let tensor: Tensor = hostile.share().unwrap();
    assert_eq!(tensor.as_slice::<bool>(), Err(Error::InvalidBool { index: 1, value: 2 }));
    assert_eq!(tensor.share::<Owned<bool, Ix1>>().err(), Some(Error::InvalidBool { index: 1, value: 2 }));
    // Also where a copy is made, because somebody else holds the tensor.
    let hostile = Torch::from_data_size(&[0, 2], &[2], Kind::Bool);
    match (&hostile).convert::<Tensor>() {
        // libtorch's own copy may have made a proper boolean of it.
        Ok(copied) => assert_eq!(copied.view().to_bytes(), Ok(vec![0, 1])),
        Err(error) => assert_eq!(error, Error::InvalidBool { index: 1, value: 2 }),
    }
    let comparison: Vec<bool> = torch(3).gt(1.).convert().unwrap();
    assert_eq!(comparison, [false, false, true]);
}

#[test]
fn small_floats_that_rust_lacks_are_copied_once_between_frameworks() {
    let torch = torch(4).to_kind(Kind::Float8e4m3fn);
    let converted = (&torch).convert_with::<Candle>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((converted.value.dtype(), converted.copied), (DType::F8E4M3, Some(Reason::NotUnique)));
    assert_eq!(converted.value.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap(), [0., 1., 2., 3.]);
}

#[test]
fn kinds_and_devices_are_exchanged() {
    for (kind, dtype) in [
        (Kind::Uint8, "uint8"),
        (Kind::Int, "int32"),
        (Kind::Half, "float16"),
        (Kind::BFloat16, "bfloat16"),
        (Kind::Bool, "bool"),
        (Kind::ComplexDouble, "complex128"),
        (Kind::Float8e4m3fn, "float8_e4m3fn"),
        (Kind::Float8e5m2fnuz, "float8_e5m2fnuz"),
    ] {
        let standard: DataType = kind.exchange().unwrap();
        assert_eq!(standard.to_string(), dtype);
        assert_eq!(standard.exchange(), Ok(kind));
    }
    assert_eq!(DType::BF16.exchange::<Kind>(), Ok(Kind::BFloat16));
    assert_eq!(Kind::Float.exchange::<DType>(), Ok(DType::F32));
    assert!(Kind::QInt8.exchange::<DataType>().is_err());
    assert_eq!(
        Kind::Bool.exchange::<DType>().err(),
        Some(Error::UnsupportedDType { framework: "candle", dtype: DataType::BOOL })
    );
    assert_eq!(CandleDevice::Cpu.exchange::<tch::Device>(), Ok(tch::Device::Cpu));
    assert_eq!(tch::Device::Cuda(1).exchange::<Device>(), Ok(Device::cuda(1)));
    let rocm = Device::new(DeviceType::ROCM, 0);
    assert_eq!(rocm.exchange::<tch::Device>(), Err(Error::UnsupportedDevice { framework: "tch", device: rocm }));
}

#[test]
fn memory_of_absent_devices_is_refused_with_the_device() {
    let absent = Device::cuda(99);
    let unavailable = Error::DeviceUnavailable { framework: "tch", device: absent };
    assert_eq!(absent.exchange::<tch::Device>().err(), Some(unavailable.clone()));
    let tensor = import(Producer::f32(&[2], &[0.; 2]).device(absent));
    assert_eq!(tensor.route::<Torch>(), Route::Impossible(unavailable.clone()));
    assert_eq!(tensor.convert::<Torch>().err(), Some(unavailable));
    let vulkan = Device::new(DeviceType::VULKAN, 0);
    let tensor = import(Producer::f32(&[2], &[0.; 2]).device(vulkan));
    assert_eq!(tensor.share::<Torch>().err(), Some(Error::UnsupportedDevice { framework: "tch", device: vulkan }));
    // Pinned and managed memory is host memory to libtorch.
    for kind in [DeviceType::CUDA_HOST, DeviceType::CUDA_MANAGED] {
        let tensor = import(Producer::f32(&[2], &[1., 2.]).device(Device::new(kind, 0)));
        assert_eq!(tensor.share::<Torch>().unwrap().double_value(&[1]), 2.);
    }
}

#[test]
fn a_failure_of_libtorch_is_an_error_with_its_words() {
    let _ = torch(1); // libtorch is loaded.
    let refused = (&torch(6).to_sparse_sparse_dim(1)).convert::<Vec<f32>>().unwrap_err();
    assert!(refused.to_string().contains("sparse"));
    // Our own error channel leaves tch's alone.
    assert_eq!(Torch::from(1i64).f_add(&Torch::from(2i64)).unwrap().int64_value(&[]), 3);
}
