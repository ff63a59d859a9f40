//! What the proofs about ndarray's arrays rest on: where the elements of an array lie, and who writes them.
#![cfg(feature = "ndarray")]

use dlbridge::ndarray::ndarray::{
    ArcArray2, Array, Array2, ArrayD, ArrayViewMut2, Axis, Dimension, ShapeBuilder, array, concatenate, linalg, s,
};
use dlbridge::ndarray::with_ref;
use dlbridge::{Bridge, Flags, LendMut, Tensor};

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|number| number as f32).collect()
}

fn matrix() -> Array2<f32> {
    Array::from_shape_vec((4, 6), numbers(24)).unwrap()
}

/// A matrix after `change`.
fn changed(change: impl FnOnce(&mut Array2<f32>)) -> Array2<f32> {
    let mut array = matrix();
    change(&mut array);
    array
}

/// Arrays of all the ways in which ndarray makes them whose elements are not just those of the vector, in its order.
fn arrays() -> Vec<(&'static str, ArrayD<f32>)> {
    let sliced = || matrix().slice_move(s![1..3, 2..5]);
    vec![
        ("whole", matrix().into_dyn()),
        ("transposed", matrix().reversed_axes().into_dyn()),
        ("in Fortran order", Array::from_shape_vec((4, 6).f(), numbers(24)).unwrap().into_dyn()),
        ("with gaps at the end", Array::from_shape_vec((2, 3).strides((1, 4)), numbers(12)).unwrap().into_dyn()),
        ("sliced", sliced().into_dyn()),
        ("some rows", matrix().slice_move(s![1..3, ..]).into_dyn()),
        ("some columns backwards", matrix().slice_move(s![.., 1..;-2]).into_dyn()),
        ("all backwards", matrix().slice_move(s![..;-1, ..;-1]).into_dyn()),
        ("nothing", matrix().slice_move(s![2..2, 3..]).into_dyn()),
        ("one element", matrix().slice_move(s![2, 3]).into_dyn()),
        ("one column", matrix().index_axis_move(Axis(1), 4).into_dyn()),
        ("an inverted axis", changed(|array| array.invert_axis(Axis(0))).into_dyn()),
        ("a collapsed axis", changed(|array| array.collapse_axis(Axis(0), 2)).into_dyn()),
        ("without a row", changed(|array| array.remove_index(Axis(0), 1)).into_dyn()),
        (
            "with a further row",
            changed(|array| array.push_row(array![9., 8., 7., 6., 5., 4.].view()).unwrap()).into_dyn(),
        ),
        (
            "with a further column",
            changed(|array| array.push_column(array![9., 8., 7., 6.].view()).unwrap()).into_dyn(),
        ),
        ("sliced, with a further row", {
            let mut array = sliced();
            array.push_row(array![9., 8., 7.].view()).unwrap();
            array.into_dyn()
        }),
        ("grown from nothing", {
            let mut array = Array2::zeros((0, 3));
            array.reserve_rows(5).unwrap();
            array.push_row(array![9., 8., 7.].view()).unwrap();
            array.into_dyn()
        }),
        ("two in one", concatenate![Axis(1), sliced(), sliced()].into_dyn()),
        ("mapped", sliced().reversed_axes().map(|number| number + 1.).into_dyn()),
        ("copied", matrix().reversed_axes().slice(s![..;2, ..]).to_owned().into_dyn()),
        ("a product", matrix().dot(&matrix().reversed_axes()).into_dyn()),
        ("reshaped", matrix().into_shape_with_order((3, 8)).unwrap().into_dyn()),
        ("shared before", sliced().into_shared().try_into_owned_nocopy().unwrap().into_dyn()),
    ]
}

/// Where the elements are, in logical order, counted from the first one.
fn places(array: &ArrayD<f32>) -> Vec<isize> {
    let place =
        |index: &[usize]| index.iter().zip(array.strides()).map(|(index, stride)| *index as isize * stride).sum();
    array.indexed_iter().map(|(index, _)| place(index.slice())).collect()
}

#[test]
fn an_array_lies_in_its_vector() {
    for (name, array) in arrays() {
        let (elements, places): (Vec<f32>, _) = (array.iter().copied().collect(), places(&array));
        let (address, is_standard) = (array.as_ptr(), array.is_standard_layout());
        let (vec, offset) = array.into_raw_vec_and_offset();
        let Some(offset) = offset else {
            assert!(elements.is_empty(), "{name}");
            continue;
        };
        assert_eq!(vec[offset..].as_ptr(), address, "{name}");
        let found: Vec<f32> = places.iter().map(|place| vec[offset.strict_add_signed(*place)]).collect();
        assert_eq!(found, elements, "{name}");
        if is_standard {
            assert_eq!(vec[offset..][..elements.len()], elements, "{name}");
        }
    }
}

#[test]
fn an_array_is_exported_where_it_is() {
    for (name, array) in arrays().into_iter().filter(|(_, array)| !array.is_empty()) {
        let (address, elements): (_, Vec<f32>) = (array.as_ptr(), array.iter().copied().collect());
        let mut tensor: Tensor = array.share().unwrap();
        assert_eq!((tensor.data().cast(), tensor.flags()), (address, Flags::empty()), "{name}");
        assert_eq!(tensor.to_vec::<f32>().unwrap(), elements, "{name}");
        // What is written arrives in the array, which is where it was.
        let first = vec![0; tensor.shape().len()];
        tensor.view_mut().unwrap().set(&first, -1f32).unwrap();
        let array: ArrayD<f32> = tensor.share().unwrap();
        assert_eq!((array.as_ptr(), array[&first[..]]), (address, -1.), "{name}");
    }
}

#[test]
fn no_array_writes_what_is_exported() {
    type Write = fn(&mut ArcArray2<f32>);
    let writes: [(&str, Write); 9] = [
        ("an operator", |array| *array += 1.),
        ("fill", |array| array.fill(0.)),
        ("an index", |array| array[[1, 1]] = 0.),
        ("an iterator", |array| array.iter_mut().for_each(|element| *element = 0.)),
        ("a view", |array| array.view_mut().fill(0.)),
        ("a slice of it", |array| array.slice_mut(s![..1, ..]).fill(0.)),
        ("a slice of Rust's", |array| array.as_slice_memory_order_mut().into_iter().flatten().for_each(|it| *it = 0.)),
        ("a map", |array| array.mapv_inplace(|element| element + 1.)),
        ("an assignment", |array| array.assign(&array![[0.]])),
    ];
    for (name, write) in writes {
        for array in [matrix().into_shared(), matrix().slice_move(s![1.., 1..;-2]).into_shared()] {
            let (address, mut other) = (array.as_ptr(), array.clone());
            let tensor: Tensor = array.share().unwrap();
            assert_eq!((tensor.data().cast(), tensor.flags()), (address, Flags::READ_ONLY), "{name}");
            let before = tensor.to_vec::<f32>().unwrap();
            assert!(other.clone().try_into_owned_nocopy().is_err(), "{name}");
            write(&mut other);
            assert_eq!(tensor.to_vec::<f32>().unwrap(), before, "{name} has written what is exported");
        }
    }
}

#[test]
fn a_view_leaves_the_gaps_alone() {
    type Write = fn(ArrayViewMut2<'_, f32>);
    let writes: [(&str, Write); 9] = [
        ("an operator", |mut view| view += 100.),
        ("fill", |mut view| view.fill(100.)),
        ("an assignment", |mut view| view.assign(&array![[100.]])),
        ("a map", |mut view| view.mapv_inplace(|element| element + 100.)),
        ("an iterator", |view| view.into_iter().for_each(|element| *element = 100.)),
        ("rows", |mut view| view.rows_mut().into_iter().for_each(|mut row| row.fill(100.))),
        ("columns", |mut view| view.columns_mut().into_iter().for_each(|mut column| column *= 100.)),
        ("a sum along an axis", |mut view| view.accumulate_axis_inplace(Axis(0), |before, it| *it += before + 100.)),
        ("a product", |mut view| {
            let (left, right) = (Array2::ones((view.nrows(), 3)), Array2::ones((3, view.ncols())));
            linalg::general_mat_mul(1., &left, &right, 0., &mut view);
        }),
    ];
    for (name, write) in writes {
        for array in [
            matrix().slice_move(s![1..3, 2..5]),
            matrix().slice_move(s![..;2, ..;3]),
            matrix().slice_move(s![..;-2, ..;-3]),
            matrix().slice_move(s![.., 1..2]).reversed_axes(),
            matrix().slice_move(s![3.., ..;-5]),
        ] {
            let mut tensor: Tensor = array.share().unwrap();
            write(tensor.lend_mut().unwrap());
            let array: ArrayD<f32> = tensor.share().unwrap();
            let places = places(&array);
            let (vec, offset) = array.into_raw_vec_and_offset();
            let written: Vec<usize> = places.iter().map(|place| offset.unwrap().strict_add_signed(*place)).collect();
            for (place, (found, before)) in vec.iter().zip(numbers(24)).enumerate() {
                assert!(written.contains(&place) || *found == before, "{name} has written at {place}, which is a gap");
            }
        }
    }
}

#[test]
fn a_view_may_be_lent_while_its_gaps_are_written() {
    let mut array = matrix();
    let (mut left, right) = array.view_mut().split_at(Axis(1), 3);
    let expected: Vec<f32> = right.iter().copied().collect();
    let found = with_ref(&right, |tensor| {
        left.fill(100.);
        tensor.to_vec::<f32>()
    });
    assert_eq!(found, Ok(Ok(expected)));
}
