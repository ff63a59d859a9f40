//! Views, strides and descriptions.

use super::*;

#[test]
fn axes_of_length_one_do_not_pass_for_another_memory_format() {
    // A batch of grey images, as from MNIST. Channels-last strides would be valid, too, but would make libtorch choose
    // that memory format in the whole model.
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
fn no_view_reaches_beyond_its_storage() {
    let torch: Torch = import(Producer::f32(&[4], &[7.; 4])).share().unwrap();
    let shifted = torch.narrow(0, 2, 2);
    assert!(shifted.f_as_strided([2], [1], 2).is_ok());
    for (size, stride, offset) in [(5, 1, 0), (2, 4, 0), (1, 1, 4), (2, 1, -1)] {
        assert!(shifted.f_as_strided([size], [stride], offset).is_err());
        assert!(torch.f_as_strided([size], [stride], offset).is_err());
    }
    assert!(torch.f_view_dtype(Kind::ComplexDouble).is_ok());
    assert!(torch.narrow(0, 0, 3).f_view_dtype(Kind::Double).is_err());
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
    // The tensor is part of an autograd graph.
    let producer = Producer::f32(&[4], &[1.; 4]);
    let calls = producer.calls();
    let torch = import(producer).share::<Torch>().unwrap().set_requires_grad(true);
    let sum = (&torch * &torch).sum(Kind::Float);
    drop(torch);
    assert_eq!(calls.count(), 0);
    drop(sum);
    assert_eq!(calls.count(), 1);
    // The import is refused.
    let producer = Producer::new(DataType::FLOAT6_E2M3FN, &[4], &[0; 3]);
    let calls = producer.calls();
    assert!(import(producer).share::<Torch>().is_err());
    assert_eq!(calls.count(), 1);
}
