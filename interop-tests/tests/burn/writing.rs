//! burn never writes to foreign memory, nor to its own while that is exported.

use super::*;

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
    // A second handle keeps the foreign memory, with its old elements.
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
            // burn has only one handle, but the array is another handle to the same memory.
            let shared: Burn<2> = array.clone().share().unwrap();
            assert_eq!(data(&shared), array.as_ptr(), "{layout}");
            let copied: Burn<2> = array.clone().convert_with(CopyPolicy::Always).unwrap().value;
            assert_eq!(elements(&op(shared)), elements(&op(copied)), "{layout}, {name}");
            assert_eq!(memory, pristine, "{layout}, {name} has written foreign memory");
        }
    }
}

#[test]
fn no_operation_writes_what_is_exported() {
    let views: [(&str, Op); 4] = [
        ("plain", |t| t),
        ("transposed", |t| t.transpose()),
        ("sliced", |t| t.slice([1..3, 2..5])),
        ("backwards", |t| t.flip([0, 1])),
    ];
    for (layout, view) in views {
        for (name, op) in OPS {
            let tensor = view(Burn::from_data(TensorData::new(numbers(24), [4, 6]), &BurnDevice::flex()));
            // burn itself has only one handle, but the export is another one.
            let export: Tensor = (&tensor).share().unwrap();
            assert_eq!(export.data().cast(), data(&tensor), "{layout}");
            let before = export.to_vec::<f32>().unwrap();
            drop(op(tensor));
            assert_eq!(export.to_vec::<f32>().unwrap(), before, "{layout}, {name} has written what is exported");
        }
    }
}

#[test]
fn no_operation_of_the_backend_ndarray_writes_borrowed_memory() {
    let memory: ArcArray2<f32> = Array2::from_shape_vec((4, 6), numbers(24)).unwrap().into_shared();
    let pristine = memory.to_owned();
    for (name, op) in OPS {
        let borrowed: NdArrayTensor = memory.clone().share().unwrap();
        let copied: NdArrayTensor = memory.clone().convert_with(CopyPolicy::Always).unwrap().value;
        assert!(borrowed.is_borrowed());
        let [borrowed, copied] = [borrowed, copied].map(Burn::<2>::from_primitive::<NdArray>);
        assert_eq!(elements(&op(borrowed)), elements(&op(copied)), "{name}");
        assert_eq!(memory, pristine, "{name} has written borrowed memory");
    }
}

#[test]
fn broadcast_and_overlapping_memory_reads_as_it_should() {
    // Strides are not discarded, and those of axes of length 1 may be any numbers.
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
