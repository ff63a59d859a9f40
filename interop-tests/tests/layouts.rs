//! Random shapes, strides, steps and offsets, against a model that walks through the memory element by element.
#![cfg(feature = "ndarray")]

use std::collections::HashSet;

use dlbridge::ndarray::ndarray::ArrayViewD;
use dlbridge::{CopyPolicy, DataType, DataTypeCode, Lend, Route, Tensor, layout};
use interop_tests::peer::PEERS;
use interop_tests::raw::{ABIS, Abi, Producer};
use proptest::prelude::*;

/// Any layout whose elements lie within its memory.
#[derive(Clone, Debug)]
struct Layout {
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// The number of elements in memory in front of the first one that the layout reaches.
    offset: i64,
    /// The number of elements in memory behind the last one that the layout reaches.
    behind: i64,
    abi: Abi,
}

impl Layout {
    /// Where the elements are, in row-major order, counted from the first one.
    fn walk(&self) -> Vec<i64> {
        self.shape.iter().zip(&self.strides).fold(vec![0], |places, (length, stride)| {
            places.into_iter().flat_map(|place| (0..*length).map(move |index| place + index * stride)).collect()
        })
    }

    /// How far the layout reaches in front of the first element, and behind it.
    fn reach(&self) -> (i64, i64) {
        let walk = self.walk();
        (-walk.iter().min().unwrap_or(&0), *walk.iter().max().unwrap_or(&0))
    }

    /// A tensor of this layout over `0, 1, 2, …`, and its elements in row-major order.
    fn tensor(&self) -> (Tensor, Vec<f32>) {
        let (before, after) = self.reach();
        let first = self.offset + before;
        let memory: Vec<f32> = (0..first + after + 1 + self.behind).map(|number| number as f32).collect();
        let elements = self.walk().into_iter().map(|place| memory[(first + place) as usize]).collect();
        let producer = Producer::f32(&[memory.len() as i64], &memory).shape(&self.shape).strides(&self.strides);
        let producer = producer.with(|it| it.tensor.byte_offset = 4 * first as u64);
        // SAFETY: the memory is as long as the layout reaches.
        (unsafe { producer.import(self.abi) }.expect("a well-formed tensor"), elements)
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    let axis = (prop_oneof![8 => 1i64..5, 1 => Just(0)], prop_oneof![4 => -7i64..13, 1 => Just(0), 1 => Just(1)]);
    // Some get the strides of a dense block with its axes in random order, so that there are many dense layouts.
    let axes = prop::collection::vec(axis, 0..5);
    (axes, prop::option::of(any::<prop::sample::Index>()), 0i64..4, 0i64..4, prop::sample::select(&ABIS[..])).prop_map(
        |(axes, dense, offset, behind, abi)| {
            let (shape, mut strides): (Vec<i64>, Vec<i64>) = axes.into_iter().unzip();
            if let (Some(dense), false) = (dense, shape.is_empty()) {
                let turn = dense.index(shape.len());
                let mut step = 1;
                for axis in (0..shape.len()).rev().map(|axis| (axis + turn) % shape.len()) {
                    strides[axis] = step;
                    step *= shape[axis].max(1);
                }
            }
            Layout { shape, strides, offset, behind, abi }
        },
    )
}

/// Mostly small numbers, and large ones of all magnitudes.
fn large() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -1i64..6,
        2 => (0u32..63, -1i64..2).prop_map(|(exponent, more)| (1i64 << exponent).wrapping_add(more)),
        1 => any::<i64>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elements_are_those_of_a_walk(layout in layouts()) {
        let (tensor, elements) = layout.tensor();
        prop_assert_eq!(tensor.to_vec::<f32>().unwrap(), &elements[..]);
        prop_assert_eq!(tensor.view().elements::<f32>().unwrap().collect::<Vec<_>>(), &elements[..]);
        let copy = tensor.to_contiguous().unwrap();
        prop_assert_eq!(copy.as_slice::<f32>().unwrap(), &elements[..]);
        let view: ArrayViewD<'_, f32> = tensor.lend().unwrap();
        prop_assert_eq!(view.iter().copied().collect::<Vec<_>>(), elements);
    }

    #[test]
    fn contiguity_and_extent_are_those_of_a_walk(layout in layouts()) {
        let (tensor, elements) = layout.tensor();
        let walk = layout.walk();
        let is_consecutive = walk.iter().enumerate().all(|(index, place)| index as i64 == *place);
        prop_assert_eq!(tensor.descriptor().is_row_major(), is_consecutive);
        prop_assert_eq!(tensor.as_slice::<f32>().is_ok(), is_consecutive);
        let extent = tensor.descriptor().extent().map(|extent| (extent.lowest, extent.highest));
        let (before, after) = layout.reach();
        prop_assert_eq!(extent, (!elements.is_empty()).then_some((-before, after)));
    }

    /// Lengths and strides of any size are accepted if nothing overflows, and refused otherwise.
    #[test]
    fn numbers_are_checked_as_in_wider_integers(
        axes in prop::collection::vec((large(), large()), 0..5),
        is_strided: bool,
        dtype in prop_oneof![prop::sample::select(DataType::ALL), (1u8..130, 0u16..9).prop_map(|(bits, lanes)| {
            DataType::new(DataTypeCode::FLOAT, bits, lanes)
        })],
        is_padded: bool,
    ) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = axes.into_iter().unzip();
        let fits = |count: i128| {
            let lane = if is_padded { dtype.bits().max(8) } else { dtype.bits() };
            let bits = count.saturating_mul(i128::from(lane) * i128::from(dtype.lanes()));
            count <= isize::MAX as i128 && (bits + 7) / 8 <= isize::MAX as i128
        };
        let elements = shape.iter().fold(1i128, |count, length| count.saturating_mul(i128::from(*length).max(1)));
        let reach = |length: &i64, stride: &i64| (i128::from(*length) - 1) * i128::from(*stride).abs();
        let is_empty = shape.contains(&0);
        let span = match is_strided && !is_empty {
            true => shape.iter().zip(&strides).fold(1i128, |span, (length, stride)| span.saturating_add(reach(length, stride))),
            false => 0,
        };
        let is_valid = shape.iter().all(|length| *length >= 0) && fits(elements) && fits(span);
        let found = layout::validate(&shape, is_strided.then_some(&strides[..]), dtype, is_padded);
        // An empty tensor of a huge shape may be refused or not, as long as what is kept of it fits.
        if !is_empty {
            prop_assert_eq!(found.is_ok(), is_valid, "{:?}", found);
        } else if let Ok(found) = found {
            prop_assert_eq!(found, 0);
        }
    }

    /// A tensor is lent for writing only if no two elements share memory.
    #[test]
    fn what_is_written_is_nobody_elses(layout in layouts()) {
        let (mut tensor, elements) = layout.tensor();
        let places: HashSet<i64> = layout.walk().into_iter().collect();
        let is_distinct = places.len() == elements.len();
        match tensor.view_mut() {
            Ok(_) => prop_assert!(is_distinct),
            // Layouts whose axes interleave are refused even if no elements meet; nested axes never are.
            Err(_) => prop_assert!(!is_distinct || !is_nested(&layout)),
        }
    }

    /// Every framework gets the same elements, by the route that it announces.
    #[test]
    fn frameworks_agree(layout in layouts()) {
        for peer in PEERS.iter().filter(|peer| !peer.name().starts_with("c_")) {
            let (tensor, elements) = layout.tensor();
            let route = peer.route(&tensor);
            if peer.name() == "arrow_batch" && layout.shape.last() == Some(&0) {
                continue; // A record batch without columns has no element type, so it cannot be exported.
            }
            match peer.import(tensor, CopyPolicy::IfNeeded) {
                Ok(arrived) => {
                    prop_assert_eq!(arrived.copied.map_or(Route::Shared, Route::Copied), route, "{}", peer.name());
                    prop_assert_eq!(arrived.tensor.shape(), &layout.shape[..], "{}", peer.name());
                    prop_assert_eq!(arrived.tensor.to_vec::<f32>().unwrap(), elements, "{}", peer.name());
                }
                Err(error) => prop_assert_eq!(Route::Impossible(error), route, "{}", peer.name()),
            }
        }
    }
}

/// Whether the axes are nested: the step of each is longer than the reach of all axes with smaller strides.
fn is_nested(layout: &Layout) -> bool {
    let mut axes: Vec<(i64, i64)> =
        layout.strides.iter().map(|stride| stride.abs()).zip(layout.shape.clone()).collect();
    axes.retain(|(_, length)| *length != 1);
    axes.sort_unstable();
    let mut reach = 0;
    axes.iter().all(|(stride, length)| {
        let is_beyond = *stride > reach;
        reach += stride * (length - 1);
        is_beyond
    })
}
