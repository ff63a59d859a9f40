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
fn f1_read_only_memory_is_written_in_a_copy_only() {
    let candle = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap();
    assert_eq!((&candle).share::<Torch>().err(), copy_required::<()>(Reason::ReadOnly).err());
    let mut plain: Torch = (&candle).convert().unwrap();
    let _ = plain.fill_(9.);
    let sealed: ReadOnly<Torch> = (&candle).share().unwrap();
    assert!(sealed.shallow_clone().f_zero_().is_err());
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
    _ = copy.as_strided([8], [1], 0).f_zero_().unwrap();
    // A tensor that libtorch refuses to write may be shared.
    let sealed: ReadOnly<Torch> = left().share().unwrap();
    assert!(sealed.as_strided([12], [1], 0).f_zero_().is_err());
    assert_eq!(lent, [4., 5., 6., 7.]);

    // The gaps of a tensor that is the only handle to its storage are its own, wherever it has been.
    let pitched = torch(16).view([2, 8]).narrow(1, 0, 4);
    let address = data_ptr(&pitched).unwrap();
    assert_eq!(pitched.route::<Torch>(), Route::Shared);
    let back: Torch = pitched.share::<Tensor>().unwrap().share().unwrap();
    assert_eq!(data_ptr(&back).unwrap(), address);
}
