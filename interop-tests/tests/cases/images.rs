//! Images, batches and views: the layouts that come up when pictures and matrices are passed on.

use dlbridge::ndarray::ndarray::{Array3, Array4, Axis, s};

use super::*;

#[test]
fn n19_columns_first_and_reversed_arrays_are_read_in_logical_order() {
    let columns_first = Array2::from_shape_vec((3, 2), numbers(6)).unwrap().reversed_axes();
    assert_eq!(columns_first.convert::<Vec<f32>>().unwrap(), [0., 2., 4., 1., 3., 5.]);
    let bytes = Array3::from_shape_vec((2, 2, 3), (0..12u8).collect()).unwrap();
    let reversed = bytes.slice_move(s![.., .., ..;-1]);
    assert_eq!(reversed.convert::<Vec<u8>>().unwrap(), [2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9]);
}

#[test]
fn n21_n22_a_picture_comes_back_as_it_was() {
    let picture = Array3::from_shape_vec((4, 5, 3), (0..60u8).collect()).unwrap();
    let channels_first: Candle = picture.view().permuted_axes([2, 0, 1]).convert().unwrap();
    let floats = channels_first.to_dtype(DType::F32).unwrap();
    let back: Array3<f32> = floats.permute((1, 2, 0)).unwrap().convert().unwrap();
    assert_eq!(back, picture.mapv(f32::from));
    let batch: Array4<u8> = picture.clone().permuted_axes([2, 0, 1]).insert_axis(Axis(0));
    let batch: Candle = batch.convert().unwrap();
    assert_eq!(batch.dims(), [1, 3, 4, 5]);
    assert_eq!(batch.get(0).unwrap().get(1).unwrap().to_vec2::<u8>().unwrap()[3][4], picture[[3, 4, 1]]);
}

#[test]
fn m06_m07_empty_ends_and_broadcast_views_are_views() {
    let base = Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap().reshape((2, 3)).unwrap();
    for (axis, start, shape) in [(0, 2, [0, 3]), (1, 3, [2, 0])] {
        let empty: Tensor = base.narrow(axis, start, 0).unwrap().share().unwrap();
        assert_eq!((empty.shape(), empty.to_vec::<f32>().unwrap()), (&shape[..], vec![]));
    }
    let wide: Tensor = base.get(1).unwrap().broadcast_as((1 << 20, 3)).unwrap().share().unwrap();
    assert_eq!(wide.view().get::<f32>(&[(1 << 20) - 1, 2]), Ok(5.));
    assert_eq!(wide.strides(), [0, 1]);
}

#[test]
fn n42_a_scalar_is_one_element() {
    let scalar = Candle::new(2.5f32, &CandleDevice::Cpu).unwrap();
    assert_eq!(scalar.dims(), [0usize; 0]);
    assert_eq!((&scalar).convert::<Vec<f32>>().unwrap(), [2.5]);
    assert_eq!((&scalar).convert::<ArrayD<f32>>().unwrap().ndim(), 0);
}

#[cfg(all(feature = "tch", feature = "burn"))]
mod frameworks {
    use dlbridge::burn::burn_tensor::{Bool, Tensor as Burn};
    use dlbridge::tch::tch::{Device, Kind, Tensor as Torch};
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn n24_strides_of_axes_of_length_one_do_not_mislead() {
        let (odd, _) = strided(&[1, 3, 5, 8], &[1, 40, 8, 1], 120);
        let torch: Torch = odd.share().unwrap();
        assert_eq!(torch.stride(), [120, 40, 8, 1]);
        let burn: Burn<4> = torch.share::<Tensor>().unwrap().share().unwrap();
        let back: Tensor = burn.share().unwrap();
        assert_eq!((back.shape(), back.strides().to_vec()), (&[1, 3, 5, 8][..], vec![120, 40, 8, 1]));
        assert_eq!(back.to_vec::<f32>().unwrap(), numbers(120));
    }

    #[test]
    fn n46_reversed_and_transposed_views_of_burn_are_right() {
        let burn = || Array2::from_shape_vec((2, 3), numbers(6)).unwrap().share::<Burn<2>>().unwrap();
        assert_eq!(burn().flip([1]).convert::<Vec<f32>>().unwrap(), [2., 1., 0., 5., 4., 3.]);
        assert_eq!(burn().flip([0, 1]).convert::<Vec<f32>>().unwrap(), [5., 4., 3., 2., 1., 0.]);
        assert_eq!(burn().flip([0]).transpose().convert::<Vec<f32>>().unwrap(), [3., 0., 4., 1., 5., 2.]);
    }

    #[test]
    fn m03_what_overlaps_is_read_and_not_written() {
        let torch = Torch::from_slice(&[1f32, 2., 3.]).reshape([3, 1]).expand([3, 2], false);
        let mut tensor: Tensor = torch.share().unwrap();
        assert_eq!(tensor.strides(), [1, 0]);
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [1., 1., 2., 2., 3., 3.]);
        assert_eq!(tensor.view_mut().err(), Some(Error::Overlap));
        let (mut wide, _) = strided(&[3, 2], &[1, 0], 3);
        assert_eq!(wide.view_mut().err(), Some(Error::Overlap));
    }

    #[test]
    fn n27_n28_n37_n38_types_arrive_as_what_they_are() {
        let halves = Torch::from_slice(&[0.5f32, -2.]);
        assert_eq!(halves.to_kind(Kind::Half).convert::<Vec<f16>>().unwrap(), [0.5, -2.].map(f16::from_f32));
        assert_eq!(halves.to_kind(Kind::BFloat16).convert::<Vec<bf16>>().unwrap(), [0.5, -2.].map(bf16::from_f32));
        let ids: Torch = Candle::new(&[7u32, 9], &CandleDevice::Cpu).unwrap().convert().unwrap();
        assert_eq!(ids.to_kind(Kind::Int64).convert::<Vec<i64>>().unwrap(), [7, 9]);
        let large: Burn<1, dlbridge::burn::burn_tensor::Int> = vec![1i64 << 40, -1].share().unwrap();
        assert_eq!(large.convert::<Vec<i64>>().unwrap(), [1 << 40, -1]);
        let truth: Burn<2, Bool> = array![[true, false], [false, false]].share().unwrap();
        assert_eq!(truth.transpose().convert::<Vec<bool>>().unwrap(), [true, false, false, false]);
        assert_eq!(Torch::zeros([2], (Kind::Bool, Device::Cpu)).convert::<Vec<bool>>().unwrap(), [false; 2]);
    }

    #[test]
    fn n26_a_large_vector_goes_through_views_without_a_copy() {
        let vec = vec![1f64; 1 << 20];
        let address = vec.as_ptr();
        let torch: Torch = vec.share().unwrap();
        let view = torch.view([1 << 10, 1 << 10]);
        drop(torch);
        let out: Tensor = view.share().unwrap();
        assert_eq!(out.data().cast(), address);
        // A handle that a later `let` shadows still lives.
        let torch: Torch = vec![1f64; 4].share().unwrap();
        let kept = torch.view([2, 2]);
        let error = kept.share::<Tensor>().unwrap_err();
        assert!(error.to_string().contains("shadowed"), "{error}");
        assert_eq!(torch.size(), [4]);
    }

    #[test]
    fn n30_a_sparse_tensor_is_made_dense_first() {
        let sparse = Torch::from_slice2(&[[0f32, 1.], [0., 0.]]).to_sparse(None, None::<&[i64]>, None);
        assert!(matches!((&sparse).convert::<Tensor>(), Err(Error::Inexpressible { .. })));
        assert_eq!(sparse.to_dense(None, false).convert::<Vec<f32>>().unwrap(), [0., 1., 0., 0.]);
    }
}
