//! The numbers that describe a tensor: types, devices, flags, lengths and strides, at their boundaries and against
//! plain walks through small layouts.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::ptr;

use dlbridge_core::layout::{self, Dims, Extent};
use dlbridge_core::sys::{DLDataType, DLDevice};
use dlbridge_core::{DataType, DataTypeCode, Descriptor, Device, DeviceType, Error, Excerpt, Flags, Reason, Rejected};

/// An address that is never read.
fn address(number: usize) -> *const u8 {
    ptr::null::<u8>().wrapping_add(number)
}

fn described<'a>(dtype: DataType, shape: &'a [i64], strides: Option<&'a [i64]>) -> Descriptor<'a> {
    Descriptor::new(address(0x1000), dtype, Device::CPU, Flags::empty(), shape, strides).unwrap()
}

/// Every list of `ndim` numbers of these.
fn lists(numbers: &[i64], ndim: usize) -> Vec<Vec<i64>> {
    (0..ndim).fold(vec![vec![]], |lists, _| {
        lists.iter().flat_map(|list| numbers.iter().map(move |number| [&list[..], &[*number]].concat())).collect()
    })
}

/// The length and the stride of every axis.
fn axes(shape: &[i64], strides: &[i64]) -> Vec<(i64, i64)> {
    shape.iter().copied().zip(strides.iter().copied()).collect()
}

/// Where the elements are, last axis fastest, counted from the first one.
fn walk(axes: impl IntoIterator<Item = (i64, i64)>) -> Vec<i64> {
    axes.into_iter().fold(vec![0], |places, (length, stride)| {
        places.into_iter().flat_map(|place| (0..length).map(move |index| place + index * stride)).collect()
    })
}

fn is_consecutive(places: &[i64]) -> bool {
    places.iter().zip(0..).all(|(place, index)| *place == index)
}

/// The strides of a tensor without gaps, last axis fastest; empty axes count as 1.
fn row_major(shape: &[i64]) -> Vec<i64> {
    (1..=shape.len()).map(|axis| shape[axis..].iter().map(|length| (*length).max(1)).product()).collect()
}

/// Calls `check` with small layouts of all kinds: empty, broadcast, turned round, with gaps, overlapping.
fn for_small_layouts(mut check: impl FnMut(&[i64], &[i64])) {
    let from_minus_seven: Vec<i64> = (-7..=9).collect();
    for (ndim, numbers) in [(0, &[][..]), (1, &from_minus_seven), (2, &from_minus_seven), (3, &[-2, 0, 1, 3, 6])] {
        let strides = lists(numbers, ndim);
        for shape in lists(&[0, 1, 2, 3], ndim) {
            strides.iter().for_each(|strides| check(&shape, strides));
        }
    }
}

#[test]
fn contiguity_is_that_of_a_walk() {
    for_small_layouts(|shape, strides| {
        let rows = walk(axes(shape, strides));
        let columns = walk(axes(shape, strides).into_iter().rev());
        let found = (layout::is_row_major(shape, Some(strides)), layout::is_column_major(shape, Some(strides)));
        assert_eq!(found, (is_consecutive(&rows), is_consecutive(&columns)), "{shape:?} {strides:?}");
        assert_eq!(layout::count(shape), Ok(rows.len()));
        assert_eq!(layout::validate(shape, Some(strides), DataType::FLOAT32, false), Ok(rows.len()));
        let it = described(DataType::FLOAT32, shape, Some(strides));
        assert_eq!((it.is_row_major(), it.is_column_major()), found);
        assert_eq!((it.len(), it.is_empty(), it.nbytes()), (rows.len(), rows.is_empty(), 4 * rows.len()));
    });
}

#[test]
fn extents_and_gaps_are_those_of_a_walk() {
    for_small_layouts(|shape, strides| {
        let places: BTreeSet<i64> = walk(axes(shape, strides)).into_iter().collect();
        let ends = places.first().zip(places.last());
        let extent = ends.map(|(lowest, highest)| Extent { lowest: *lowest, highest: *highest });
        let span = ends.map_or(0, |(lowest, highest)| (*lowest..=*highest).count());
        assert_eq!(layout::extent_of(shape, Some(strides)), extent, "{shape:?} {strides:?}");
        assert_eq!(extent.map_or(0, Extent::span), span as u64);
        assert_eq!(layout::fills_extent(shape, Some(strides)), places.len() == span, "{shape:?} {strides:?}");
        let it = described(DataType::FLOAT32, shape, Some(strides));
        assert_eq!((it.extent(), it.owns_extent()), (extent, places.len() == span));
    });
}

#[test]
fn elements_overlap_unless_wider_strides_step_over_what_narrower_ones_reach() {
    for_small_layouts(|shape, strides| {
        // With the widest axis first and all strides positive, the walk goes ever upwards if so.
        let mut widest_first = axes(shape, strides);
        widest_first.iter_mut().for_each(|(_, stride)| *stride = stride.abs());
        widest_first.sort_by_key(|(_, stride)| -stride);
        let is_upwards = walk(widest_first).windows(2).all(|two| two[0] < two[1]);
        assert_eq!(layout::may_overlap(shape, Some(strides)), !is_upwards, "{shape:?} {strides:?}");
    });
}

#[test]
fn without_strides_every_rule_takes_the_row_major_ones() {
    for ndim in 0..=3 {
        for shape in lists(&[0, 1, 2, 3], ndim) {
            let strides = row_major(&shape);
            let mut filled = vec![-1; ndim];
            layout::fill_row_major(&shape, &mut filled);
            assert_eq!(filled, strides);
            let rules = |strides: Option<&[i64]>| {
                let (is_row_major, extent) =
                    (layout::is_row_major(&shape, strides), layout::extent_of(&shape, strides));
                let is_filled = layout::fills_extent(&shape, strides);
                let elements = layout::validate(&shape, strides, DataType::FLOAT32, false);
                let is_column_major = layout::is_column_major(&shape, strides);
                (is_row_major, is_column_major, is_filled, layout::may_overlap(&shape, strides), extent, elements)
            };
            assert_eq!(rules(None), rules(Some(&strides)), "{shape:?}");
            assert_eq!(described(DataType::FLOAT32, &shape, None).strides(), strides[..]);
        }
    }
}

/// What [`layout::validate`] is to say, in integers so wide that nothing overflows.
fn expected(shape: &[i64], strides: Option<&[i64]>, dtype: DataType, padded: bool) -> Result<usize, Error> {
    if let Some((axis, length)) = shape.iter().enumerate().find(|(_, length)| **length < 0) {
        return Err(Error::NegativeLength { axis, length: *length });
    }
    let lane = if padded { dtype.bits().max(8) } else { dtype.bits() };
    let fits = |number: i128| number <= isize::MAX as i128;
    let has_room = |elements: i128| fits(elements) && fits((elements * i128::from(lane) + 7) / 8);
    let (is_empty, wide) = (shape.contains(&0), |number: &i64| i128::from(*number));
    let product = shape.iter().fold(1i128, |product, length| product.saturating_mul(wide(length).max(1)));
    let elements = if is_empty { 0 } else { product };
    let reach = |strides: &[i64]| -> i128 {
        shape.iter().zip(strides).map(|(length, stride)| (wide(length) - 1) * wide(stride).abs()).sum()
    };
    let span = strides.filter(|_| !is_empty).map_or(0, |strides| 1 + reach(strides));
    match (fits(product), has_room(elements), has_room(span)) {
        (false, ..) => Err(Error::Overflow { quantity: "element count" }),
        (_, false, _) => Err(Error::Overflow { quantity: "size in bytes" }),
        (.., false) => Err(Error::Overflow { quantity: "strides" }),
        _ => Ok(elements as usize),
    }
}

#[test]
fn numbers_are_checked_as_in_wider_integers() {
    const TOP: i64 = i64::MAX;
    let lengths = [i64::MIN, -1, 0, 1, 2, 3, 1 << 31, TOP / 4, TOP / 2, TOP / 2 + 1, TOP];
    let steps = [i64::MIN, -TOP / 2, -1, 0, 1, 1 << 31, TOP / 8, TOP / 4, TOP / 2, TOP - 1, TOP];
    let nothing = DataType::new(DataTypeCode::INT, 0, 1);
    let dtypes = [DataType::BOOL, DataType::FLOAT32, DataType::FLOAT6_E2M3FN, DataType::FLOAT4_E2M1FN, nothing];
    let strides: Vec<_> = [1, 2].into_iter().flat_map(|ndim| lists(&steps, ndim)).collect();
    for shape in [0, 1, 2].into_iter().flat_map(|ndim| lists(&lengths, ndim)) {
        for (dtype, padded) in dtypes.into_iter().flat_map(|dtype| [(dtype, false), (dtype, true)]) {
            let found = layout::validate(&shape, None, dtype, padded);
            assert_eq!(found, expected(&shape, None, dtype, padded), "{shape:?} {dtype} {padded}");
            for strides in strides.iter().filter(|strides| strides.len() == shape.len()) {
                let found = layout::validate(&shape, Some(strides), dtype, padded);
                let expected = expected(&shape, Some(strides), dtype, padded);
                assert_eq!(found, expected, "{shape:?} {strides:?} {dtype} {padded}");
            }
        }
    }
}

#[test]
fn pairs_of_halves_of_a_byte_take_two_bytes_if_padded() {
    let pair = DataType::FLOAT4_E2M1FN.with_lanes(2);
    let most = isize::MAX as i64 / 2;
    for (length, padded, is_ok) in
        [(most, true, true), (most + 1, true, false), (2 * most + 1, false, true), (2 * most + 1, true, false)]
    {
        for strides in [None, Some(&[1][..])] {
            assert_eq!(layout::validate(&[length], strides, pair, padded).is_ok(), is_ok, "{length} {padded}");
        }
    }
}

#[test]
fn many_axes_are_checked_like_few() {
    for ndim in [61, 62, 63, 64, 65, 100] {
        let (shape, strides) = (vec![2; ndim], vec![0; ndim]);
        let expected = if ndim < 63 { Ok(1 << ndim) } else { Err(Error::Overflow { quantity: "element count" }) };
        assert_eq!(layout::count(&shape), expected);
        assert_eq!(layout::validate(&shape, Some(&strides), DataType::BOOL, false), expected);
        assert_eq!(layout::validate(&vec![1; ndim], Some(&strides), DataType::BOOL, false), Ok(1));
    }
}

#[test]
fn lengths_count_even_where_strides_are_missing() {
    assert_eq!(layout::validate(&[2, 3], Some(&[1]), DataType::FLOAT32, false), Ok(6));
    assert_eq!(layout::validate(&[2, -3], Some(&[1]), DataType::FLOAT32, false).ok(), None);
    let error = Descriptor::new(address(8), DataType::BOOL, Device::CPU, Flags::empty(), &[2, 3], Some(&[1]));
    assert_eq!(error.unwrap_err(), Error::LengthMismatch { expected: 2, found: 1 });
}

#[test]
fn a_descriptor_says_what_it_was_told() {
    let (dtype, device, flags) = (DataType::FLOAT4_E2M1FN, Device::cuda(1), Flags::READ_ONLY | Flags::PADDED);
    let (shape, strides) = ([3, 2], [-7, 3]);
    let it = Descriptor::new(address(0x1000), dtype, device, flags, &shape, Some(&strides)).unwrap();
    assert_eq!((it.dtype(), it.device(), it.flags(), it.data()), (dtype, device, flags, address(0x1000)));
    assert_eq!((it.ndim(), it.shape(), it.strides().as_slice()), (2, &shape[..], Some(&strides[..])));
    assert_eq!((it.len(), it.nbytes(), it.is_empty()), (6, 6, false));
    assert_eq!(it.extent(), Some(Extent { lowest: -14, highest: 3 }));
    let words = "Tensor { dtype: float4_e2m1fn, device: cuda:1, shape: [3, 2], strides: [-7, 3], data: 0x1000, \
                 flags: {READ_ONLY, PADDED} }";
    assert_eq!(format!("{it:?}"), words);
    // SAFETY: the shape and the strides are those above.
    let again = unsafe { Descriptor::from_raw(&it.to_raw(), flags) };
    assert_eq!(format!("{:?}", again.unwrap()), words);
}

#[test]
fn only_an_empty_tensor_may_be_nowhere() {
    for (shape, expected) in [(&[0][..], Ok(0)), (&[2, 0], Ok(0)), (&[2, 3], Err(Error::NullData { elements: 6 }))] {
        let it = Descriptor::new(ptr::null(), DataType::BOOL, Device::CPU, Flags::empty(), shape, None);
        assert_eq!(it.map(|it| it.len()), expected);
    }
    let it = Descriptor::new(ptr::null(), DataType::BOOL, Device::CPU, Flags::empty(), &[-1], None);
    assert_eq!(it.unwrap_err(), Error::NegativeLength { axis: 0, length: -1 });
}

#[test]
fn an_owner_is_found_by_its_type() {
    let gaps = described(DataType::FLOAT32, &[2, 2], Some(&[4, 1]));
    let (owned, sole) = (gaps.owned_by::<Vec<f32>>(), gaps.solely_owned_by::<Vec<f32>>());
    for (it, is_owned, owns_extent) in [(gaps, false, false), (owned, true, false), (sole, true, true)] {
        assert_eq!((it.is_owned_by::<Vec<f32>>(), it.is_owned_by::<Vec<i32>>()), (is_owned, false));
        assert_eq!((it.owns_extent(), it.shape()), (owns_extent, &[2, 2][..]));
    }
}

#[test]
fn an_address_is_a_multiple_of_the_alignment_or_there_are_no_elements() {
    let cases =
        [(16, 0, true), (17, 1, true), (16, 16, true), (24, 16, false), (17, 2, false), (4, 8, false), (32, 8, true)];
    for (number, align, is_aligned) in cases {
        for (shape, is_ok) in [(&[2][..], is_aligned), (&[0], true)] {
            let it =
                Descriptor::new(address(number), DataType::BOOL, Device::CPU, Flags::empty(), shape, None).unwrap();
            let expected = if is_ok { Ok(()) } else { Err(Error::Misaligned { address: number, align }) };
            assert_eq!(it.check_align(align), expected);
        }
    }
}

#[test]
fn what_is_checked_is_named_if_it_differs() {
    let it = described(DataType::FLOAT32, &[2, 3], None);
    let (expected, found) = (DataType::INT8, DataType::FLOAT32);
    assert_eq!(
        (it.check_dtype(found), it.check_dtype(expected)),
        (Ok(()), Err(Error::DTypeMismatch { expected, found }))
    );
    assert_eq!(it.check_ndim(2), Ok(()));
    for expected in [0, 1, 3] {
        assert_eq!(it.check_ndim(expected), Err(Error::NdimMismatch { expected, shape: [2, 3].into() }));
    }
    for (dtype, shape, result) in [
        (DataType::FLOAT32, &[2, 3][..], Ok(())),
        (expected, &[2, 3], Err(Error::DTypeMismatch { expected, found })),
        (DataType::FLOAT32, &[2, 3, 1], Err(Error::NdimMismatch { expected: 3, shape: [2, 3].into() })),
        (DataType::FLOAT32, &[2, 4], Err(Error::AxisMismatch { axis: 1, expected: 4, found: 3 })),
    ] {
        assert_eq!(it.check_like(&described(dtype, shape, None)), result);
    }
}

#[test]
fn the_cpu_reads_main_memory_and_what_is_pinned_or_managed() {
    // The numbers are DLPack's.
    for kind in -1..=21 {
        for id in [0, 1] {
            let device = Device::new(DeviceType(kind), id);
            let is_host = [1, 3, 11, 13, 20].contains(&kind);
            let it = Descriptor::new(address(8), DataType::BOOL, device, Flags::empty(), &[1], None).unwrap();
            assert_eq!(device.is_host_accessible(), is_host, "{device}");
            assert_eq!(it.check_host(), if is_host { Ok(()) } else { Err(Error::NotOnHost { device }) });
        }
    }
}

#[test]
fn devices_are_pairs_of_integers() {
    for (kind, id, name) in
        [(1, 0, "cpu"), (1, 1, "cpu:1"), (2, 0, "cuda:0"), (3, -2, "cuda_host:-2"), (-9, 7, "device-9:7")]
    {
        let device = Device::new(DeviceType(kind), id);
        assert_eq!((device.kind(), device.id(), device.to_string()), (DeviceType(kind), id, name.to_owned()));
        let raw = DLDevice { device_type: kind, device_id: id };
        assert_eq!((DLDevice::from(device), Device::from(raw), name.parse()), (raw, device, Ok(device)));
    }
    assert_eq!(
        "device-0:0".parse::<Device>(),
        Err(Error::UnknownName { what: "device", name: Excerpt::new("device-0:0") })
    );
}

#[test]
fn element_types_are_triples_of_integers() {
    for (code, bits, lanes) in [(0, 8, 1), (17, 4, 2), (99, 255, u16::MAX), (2, 0, 0)] {
        let dtype = DataType::new(DataTypeCode(code), bits, lanes);
        assert_eq!((dtype.code(), dtype.bits(), dtype.lanes()), (DataTypeCode(code), bits, lanes));
        assert_eq!(dtype.with_lanes(7), DataType::new(DataTypeCode(code), bits, 7));
        let raw = DLDataType { code, bits, lanes };
        assert_eq!((DLDataType::from(dtype), DataType::from(raw)), (raw, dtype));
    }
}

#[test]
fn sizes_are_those_of_wider_integers() {
    const TOP: usize = usize::MAX;
    for (bits, lanes) in (0..=u8::MAX).flat_map(|bits| [0, 1, 2, 3, 8, u16::MAX].map(|lanes| (bits, lanes))) {
        let dtype = DataType::new(DataTypeCode::OPAQUE_HANDLE, bits, lanes);
        let whole = u32::from(bits) * u32::from(lanes);
        assert_eq!((dtype.bits_per_element(), dtype.is_sub_byte()), (whole, bits <= 7));
        assert_eq!(dtype.itemsize(), (whole > 0 && whole.trailing_zeros() >= 3).then_some(whole as usize >> 3));
        for elements in [0, 1, 2, 3, 5, 1000, TOP / 16, TOP / 8 + 1, TOP / 2 + 1, TOP - 1, TOP] {
            for padded in [false, true] {
                let lane = if padded { u128::from(bits.max(8)) } else { u128::from(bits) };
                let bytes = (lane * u128::from(lanes) * elements as u128).div_ceil(8);
                assert_eq!(dtype.size_of(elements, padded), usize::try_from(bytes).ok(), "{dtype} {elements} {padded}");
            }
        }
    }
}

#[test]
fn flags_are_the_three_bits_that_dlpack_defines() {
    let named = [(Flags::READ_ONLY, 1, "READ_ONLY"), (Flags::COPIED, 2, "COPIED"), (Flags::PADDED, 4, "PADDED")];
    for bits in 0..8 {
        let set = named.iter().filter(|(_, bit, _)| bits / bit % 2 == 1);
        let flags = set.clone().fold(Flags::empty(), |flags, (flag, ..)| flags | *flag | *flag);
        assert_eq!((flags, flags.bits()), (Flags::from_bits(bits), bits));
        assert_eq!(Flags::from_bits(bits + 8), flags, "unknown bits are dropped");
        assert_eq!(Flags::from_bits(u64::MAX - 7 + bits), flags, "unknown bits are dropped");
        let found = (flags.is_read_only(), flags.is_copied(), flags.is_padded());
        assert_eq!(found, (bits % 2 == 1, [2, 3, 6, 7].contains(&bits), bits >= 4));
        let names: Vec<_> = set.map(|(.., name)| *name).collect();
        assert_eq!(format!("{flags:?}"), format!("{{{}}}", names.join(", ")));
    }
}

#[test]
fn strides_come_one_by_one_and_say_how_many_are_left() {
    let (shape, explicit) = ([2, 0, 3, 4], [7, -5, 0, i64::MIN]);
    for (strides, expected) in [(None, [12, 12, 4, 1]), (Some(&explicit[..]), explicit)] {
        let strides = described(DataType::BOOL, &shape, strides).strides();
        assert_eq!((strides.to_vec(), strides.as_slice().is_some()), (expected.to_vec(), expected == explicit));
        assert_eq!(format!("{strides:?}"), format!("{expected:?}"));
        let mut left = strides.iter();
        for (index, stride) in expected.into_iter().enumerate() {
            assert_eq!((left.len(), left.size_hint()), (4 - index, (4 - index, Some(4 - index))));
            assert_eq!(left.next(), Some(stride));
        }
        assert_eq!((left.len(), left.next(), left.next()), (0, None, None));
        assert!(strides == expected && strides == expected[..]);
        assert!(strides != expected[..3] && strides != [12, 12, 4] && strides != [0, 12, 4, 1]);
    }
}

#[test]
fn dims_are_written_in_place_on_the_stack_and_on_the_heap() {
    for ndim in [0, 1, 2, 7, 8, 9, 20] {
        let mut dims = Dims::zeros(ndim);
        assert_eq!(*dims, vec![0; ndim]);
        dims.iter_mut().zip(10..).for_each(|(place, number)| *place = number);
        dims.push(-1);
        let expected: Vec<i64> = (10..10 + ndim as i64).chain([-1]).collect();
        assert_eq!(*dims, expected);
        assert_eq!(*expected.iter().copied().collect::<Dims>(), expected);
    }
    assert!(Dims::default().is_empty());
}

#[test]
fn an_error_is_found_below_the_columns_that_it_is_in() {
    let column = |error| Error::InColumn { column: Excerpt::new("price"), error: Box::new(error) };
    let error = column(column(Error::ReadOnly));
    assert_eq!((error.root(), Error::Overlap.root()), (&Error::ReadOnly, &Error::Overlap));
    let words = format!("column \"price\": column \"price\": {}", Error::ReadOnly);
    assert_eq!((error.to_string(), format!("{error:?}")), (words.clone(), format!("InColumn: {words}")));
    let refused = Rejected { value: 5, error };
    assert!(refused.source().is_none(), "nothing is printed twice");
    assert_eq!((refused.to_string(), format!("{refused:?}")), (words.clone(), format!("InColumn: {words}")));
    assert_eq!(Error::from(refused).to_string(), words);
}

#[test]
fn excerpts_and_reasons_print_as_words() {
    assert_eq!(format!("{:?}", Excerpt::new("a \"b\"")), r#""a \"b\"""#);
    assert_eq!(Excerpt::new("a").as_str(), "a");
    assert_eq!(Reason::Nulls.to_string(), "nulls are filled");
    assert_eq!(Reason::Misaligned { align: 16 }.to_string(), "the first element is not aligned to 16 bytes");
}

#[test]
fn one_axis_is_an_axis_and_others_are_axes() {
    for (expected, word) in [(0, "0 axes"), (1, "1 axis"), (2, "2 axes")] {
        let error = Error::NdimMismatch { expected, shape: [4; 5].into() };
        assert!(error.to_string().contains(&format!("expected {word}:")), "{error}");
    }
}
