//! Reported faults with strides (A).

use super::*;

#[test]
fn a1_negative_strides_are_read_and_written() {
    let producer = Producer::f32(&[3, 4], &numbers(12)).strides(&[4, -1]).with(|it| it.tensor.byte_offset = 12);
    let mut tensor = import(producer, Abi::Versioned).unwrap();
    let view: ArrayView2<'_, f32> = tensor.lend().unwrap();
    assert_eq!(view, array![[3., 2., 1., 0.], [7., 6., 5., 4.], [11., 10., 9., 8.]]);
    assert_eq!(view.strides(), [4, -1]);
    tensor.lend_mut::<ArrayViewMut2<'_, f32>>().unwrap()[[0, 0]] = 30.;
    assert_eq!(tensor.view().get::<f32>(&[0, 0]), Ok(30.));
    // candle has no negative strides: one copy.
    assert_eq!(tensor.route::<Candle>(), Route::Copied(Reason::ForeignMemory));
    let candle: Candle = tensor.convert().unwrap();
    assert_eq!(candle.to_vec2::<f32>().unwrap()[0], [30., 2., 1., 0.]);
}

#[test]
fn memory_is_lent_to_candle_for_a_closure() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for (shape, strides) in [([2, 3], [3, 1]), ([3, 2], [1, 3]), ([2, 2], [3, 1]), ([2, 3], [0, 1])] {
        let (tensor, calls) = strided(&shape, &strides, 6);
        let expected: Vec<f32> = tensor.view().elements().unwrap().collect();
        let mut escaped = None;
        // SAFETY: nothing is written, nor is any lock held.
        let read = unsafe {
            dlbridge::candle::lend(&tensor, |candle| {
                escaped = Some(candle.clone());
                candle.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            })
        };
        assert_eq!(read, Ok(expected.clone()));
        // A tensor that leaves the closure has memory of its own.
        let escaped = escaped.unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(escaped, vec![0.; expected.len()]);
        assert_eq!(tensor.to_vec::<f32>().unwrap(), expected);
        // SAFETY: as above.
        let panicked =
            catch_unwind(AssertUnwindSafe(|| unsafe { dlbridge::candle::lend(&tensor, |_| panic!("inside")) }));
        assert!(panicked.map(|result: Result<(), Error>| result).is_err());
        assert_eq!((tensor.to_vec::<f32>().unwrap(), calls.count()), (expected, 0));
        drop(tensor);
        assert_eq!(calls.count(), 1);
    }
    let (backwards, _) = strided(&[1], &[1], 1);
    // SAFETY: as above.
    assert_eq!(unsafe { dlbridge::candle::lend(&backwards, |candle| candle.elem_count()) }, Ok(1));
    let bools = import(Producer::new(DataType::BOOL, &[1], &[1]), Abi::Versioned).unwrap();
    // SAFETY: as above.
    assert!(unsafe { dlbridge::candle::lend(&bools, |_| ()) }.is_err());
}

#[test]
fn a6_a8_a12_strides_give_the_same_logical_values() {
    let (tensor, _) = strided(&[3, 2], &[1, 3], 6);
    assert_eq!(tensor.view().get::<f32>(&[1, 0]), Ok(1.));
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
    let (tensor, _) = strided(&[2, 3, 3, 3], &[27, 1, 9, 3], 54);
    let view: ArrayViewD<'_, f32> = tensor.lend().unwrap();
    assert_eq!((view[[1, 2, 0, 1]], view[[0, 1, 2, 2]]), (27. + 2. + 3., 1. + 18. + 6.));
    assert_eq!(tensor.view().get::<f32>(&[1, 2, 0, 1]), Ok(27. + 2. + 3.));
}

#[test]
fn a7_a_stride_of_two_skips() {
    let (tensor, _) = strided(&[5], &[2], 10);
    assert_eq!(tensor.view().elements::<f32>().unwrap().collect::<Vec<_>>(), [0., 2., 4., 6., 8.]);
    assert_eq!(tensor.as_slice::<f32>(), Err(Error::NotContiguous));
    assert_eq!(tensor.lend::<ArrayView1<'_, f32>>().unwrap(), array![0., 2., 4., 6., 8.]);
}

#[test]
fn a11_overlap_may_be_read_but_not_written() {
    let (mut tensor, _) = strided(&[2, 3], &[1, 1], 4);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 1., 2., 1., 2., 3.]);
    assert_eq!(tensor.view_mut().err(), Some(Error::Overlap));
    assert_eq!(tensor.lend_mut::<ArrayViewMut2<'_, f32>>().err(), Some(Error::Overlap));
    let (mut broadcast, _) = strided(&[4, 3], &[0, 1], 3);
    assert_eq!(broadcast.view_mut().err(), Some(Error::Overlap));
}

#[test]
fn a15_null_strides_are_row_major_in_both_abis() {
    for abi in ABIS {
        let tensor = import(Producer::f32(&[2, 3], &numbers(6)), abi).unwrap();
        assert_eq!(tensor.strides(), [3, 1]);
        assert_eq!(tensor.strides().as_slice(), None);
        assert_eq!(tensor.lend::<ArrayView2<'_, f32>>().unwrap(), array![[0., 1., 2.], [3., 4., 5.]]);
    }
}

#[test]
fn a16_candle_keeps_the_offset_of_a_narrowed_view() {
    let base = Candle::from_vec(numbers(12), (3, 4), &CandleDevice::Cpu).unwrap();
    let narrowed = base.narrow(0, 1, 2).unwrap();
    let transposed: Tensor = narrowed.t().unwrap().share().unwrap();
    assert_eq!(transposed.to_vec::<f32>().unwrap(), [4., 8., 5., 9., 6., 10., 7., 11.]);
    let row = base.narrow(0, 1, 1).unwrap().broadcast_as((2, 4)).unwrap();
    let broadcast: Tensor = row.share().unwrap();
    assert_eq!(broadcast.strides(), [0, 1]);
    assert_eq!(broadcast.to_vec::<f32>().unwrap(), [4., 5., 6., 7., 4., 5., 6., 7.]);
}
