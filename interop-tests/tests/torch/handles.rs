//! Handles that share a storage.

use super::*;

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
    // A view keeps its base alive for autograd. If nobody else holds the base, the view is the only handle.
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
    // If `resize_` fails, as it does on memory that cannot move, libtorch keeps the new size.
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
    // Copy-on-write clones have different storages over the same memory.
    let (first, second) = (torch(6), torch(6));
    let clone = first.internal_lazy_clone();
    // SAFETY: nobody writes meanwhile.
    assert_eq!(unsafe { export_shared(&first) }.err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(first.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert_eq!(clone.convert::<Vec<f32>>().unwrap(), [0., 1., 2., 3., 4., 5.]);
    // Every mapping of a file has a storage of its own.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers");
    std::fs::write(&file, [0u8; 24]).unwrap();
    let map = || Torch::from_file(file.to_str().unwrap(), true, 6, CPU);
    let (one, _other) = (map(), map());
    assert_eq!(one.share::<Tensor>().err(), copy_required::<()>(Reason::NotUnique).err());
    assert!(second.share::<Tensor>().is_ok());
}
