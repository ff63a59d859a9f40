//! Memory that libtorch shares with others.

use super::*;

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
    // In libtorch every handle can write. Only the sealed storage refuses it.
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
        // With a scalar argument, tch panics instead of returning libtorch's error.
        let refused = catch_unwind(AssertUnwindSafe(write)).map_or(true, |result| result.is_err());
        assert!(refused, "{name} was not refused");
        assert_eq!(candle.to_vec1::<f32>().unwrap(), original, "{name} wrote to sealed memory");
    }
    assert!(alias().f_copy_(&other).is_err());
    // A lazy clone could be written in place once it is the only one. libtorch makes no lazy clone of foreign memory.
    assert!(alias().f_internal_lazy_clone().is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| alias().data_ptr())).is_err());
    assert!(Vec::<f32>::try_from(&*sealed).is_err());
    assert_eq!(candle.to_vec1::<f32>().unwrap(), [0., 1., 2., 3., 4., 5.]);
    // A plain tensor, which can be written, needs a copy.
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
    candle.zero_set().unwrap(); // All exports are dropped, so candle's lock is free.
}

#[test]
fn gaps_that_may_be_somebody_elses_are_not_libtorchs_to_write() {
    use std::cell::UnsafeCell;
    use std::sync::Arc;

    use dlbridge::Memory;

    struct Block(UnsafeCell<[f32; 16]>);
    // SAFETY: the two tensors below use elements of their own.
    unsafe impl Sync for Block {}
    // SAFETY: as above.
    unsafe impl Send for Block {}
    /// Rows of four, eight apart, from element `first` on.
    fn rows(block: &Arc<Block>, first: usize, rows: i64, flags: Flags) -> Tensor {
        let memory = Memory { dtype: DataType::FLOAT32, device: Device::CPU, flags, is_valid: true };
        let data = block.0.get().cast::<f32>().wrapping_add(first).cast();
        // SAFETY: within the block, which the owner keeps; nobody else uses the elements, and nobody writes the gaps.
        unsafe {
            Tensor::from_owner(block.clone(), memory, 2, |_, shape, strides| {
                shape.copy_from_slice(&[rows, 4]);
                strides.copy_from_slice(&[8, 1]);
                data
            })
        }
    }
    let block = Arc::new(Block(UnsafeCell::new(std::array::from_fn(|n| n as f32))));
    let left = || rows(&block, 0, 2, Flags::empty());
    let right = rows(&block, 4, 1, Flags::READ_ONLY);
    let lent: &[f32] = right.as_slice().unwrap();

    assert_eq!(left().route::<Torch>(), Route::Copied(Reason::Gaps));
    assert_eq!(left().share::<Torch>().map(drop), copy_required(Reason::Gaps));
    let copy: Torch = left().convert().unwrap();
    _ = copy.as_strided([8], [1], 0).f_fill_(-1).unwrap();
    // A tensor that libtorch refuses to write may be shared.
    let sealed: ReadOnly<Torch> = left().share().unwrap();
    assert!(sealed.as_strided([12], [1], 0).f_fill_(-1).is_err());
    assert_eq!(lent, [4., 5., 6., 7.]);

    // The gaps of a tensor that is the only handle to its storage are its own, wherever it has been.
    let pitched = torch(16).view([2, 8]).narrow(1, 0, 4);
    let address = data_ptr(&pitched).unwrap();
    assert_eq!(pitched.route::<Torch>(), Route::Shared);
    let back: Torch = pitched.share::<Tensor>().unwrap().share().unwrap();
    assert_eq!(data_ptr(&back).unwrap(), address);
}
