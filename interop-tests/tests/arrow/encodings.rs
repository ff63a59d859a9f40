//! Elements that Arrow stores in another form, and elements that are not numbers.

use super::*;

#[test]
fn h7_packed_booleans_are_unpacked_by_name_only() {
    let array = BooleanArray::from(vec![true, false, true, true, false, true]);
    let sliced = array.slice(3, 3);
    assert!(matches!((&sliced).share::<Tensor>(), Err(Error::CopyRequired { reason: Reason::Encoded, .. })));
    assert_eq!((&sliced).convert::<Vec<bool>>().unwrap(), [true, false, true]);
    let gaps: Column = BooleanArray::from(vec![Some(true), None]).into();
    assert_eq!(gaps.with(Options::new().fill_nulls(true)).convert::<Vec<bool>>().unwrap(), [true, true]);
    // An import packs them again.
    let back = vec![true, false, true].convert_with::<BooleanArray>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!((back.value, back.copied), (BooleanArray::from(vec![true, false, true]), Some(Reason::Encoded)));
    let matrix = array![[true, false], [false, true], [true, true]];
    let back: FixedSizeListArray = matrix.clone().convert().unwrap();
    assert_eq!(back.convert::<Array2<bool>>().unwrap(), matrix);
}

#[test]
fn dictionaries_are_decoded_by_name_only() {
    let values = Float64Array::from(vec![Some(0.5), None, Some(2.5)]);
    let keys = UInt8Array::from(vec![Some(2), Some(0), None, Some(1), Some(2)]);
    let array = DictionaryArray::new(keys, Arc::new(values));
    assert_eq!(array.clone().convert::<Vec<f64>>().unwrap_err(), nulls(2, "Dictionary(UInt8, Float64)"));
    let sliced = array.slice(0, 2);
    assert!(matches!((&sliced).share::<Tensor>(), Err(Error::CopyRequired { reason: Reason::Encoded, .. })));
    assert_eq!(sliced.convert::<Vec<f64>>().unwrap(), [2.5, 0.5]);
    let column = Column::from(array).with(Options::new().fill_nulls(-1));
    assert_eq!(column.convert::<Vec<f64>>().unwrap(), [2.5, 0.5, -1., -1., 2.5]);
    let strings: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    assert!(matches!(strings.convert::<Vec<i32>>(), Err(Error::UnsupportedType { .. })));
}

#[test]
fn times_are_integers_when_asked_for() {
    let times = TimestampNanosecondArray::from(vec![1_000, 2_000]).with_timezone("+01:00");
    let (data, dtype) = (times.values().as_ptr(), times.data_type().clone());
    let error = (&times).share::<Tensor>().unwrap_err();
    assert!(matches!(error, Error::NeedsOption { option: "Options::temporal_as_integers", .. }), "{error}");
    assert!(dtype.exchange::<DataType>().is_err());
    let tensor: Tensor = Column::from(times).with(Options::new().temporal_as_integers()).share().unwrap();
    assert_eq!((tensor.dtype(), tensor.data().cast()), (DataType::INT64, data));
    // A tensor of integers does not become a column of times; the caller has to cast it.
    assert!(matches!(tensor.route::<TimestampNanosecondArray>(), Route::Impossible(Error::UnsupportedType { .. })));
    let all: [(ArrayRef, DataType); 6] = [
        (Arc::new(Date32Array::from(vec![1])), DataType::INT32),
        (Arc::new(Date64Array::from(vec![1])), DataType::INT64),
        (Arc::new(Time32SecondArray::from(vec![1])), DataType::INT32),
        (Arc::new(Time64MicrosecondArray::from(vec![1])), DataType::INT64),
        (Arc::new(DurationMillisecondArray::from(vec![1])), DataType::INT64),
        (Arc::new(IntervalYearMonthArray::from(vec![1])), DataType::INT32),
    ];
    for (array, dtype) in all {
        assert!(matches!((&array).share::<Tensor>(), Err(Error::NeedsOption { .. })));
        let column = Column::new(array.clone(), field("t", array.data_type().clone()));
        let tensor: Tensor = column.with(Options::new().temporal_as_integers()).share().unwrap();
        assert_eq!(tensor.dtype(), dtype);
    }
}

#[test]
fn decimals_are_integers_or_floats_when_asked_for() {
    let all: [(ArrayRef, Option<u8>); 4] = [
        (Arc::new(Decimal32Array::from(vec![125, -5]).with_precision_and_scale(9, 2).unwrap()), Some(32)),
        (Arc::new(Decimal64Array::from(vec![125, -5]).with_precision_and_scale(18, 2).unwrap()), Some(64)),
        (Arc::new(Decimal128Array::from(vec![125, -5]).with_precision_and_scale(38, 2).unwrap()), Some(128)),
        (
            Arc::new(
                Decimal256Array::from([125, -5].map(i256::from_i128).to_vec()).with_precision_and_scale(76, 2).unwrap(),
            ),
            None,
        ),
    ];
    for (array, bits) in all {
        assert!(matches!((&array).convert::<Vec<f64>>(), Err(Error::NeedsOption { .. })));
        let column = Column::new(array.clone(), field("price", array.data_type().clone()));
        let floats = column.clone().with(Options::new().decimals_as_floats());
        assert_eq!(floats.route::<Vec<f64>>(), Route::Copied(Reason::Encoded));
        assert_eq!(floats.convert::<Vec<f64>>().unwrap(), [1.25, -0.05]);
        let integers = column.with(Options::new().decimals_as_integers());
        match (integers.share::<Tensor>(), bits) {
            (Ok(tensor), Some(bits)) => assert_eq!(tensor.dtype().bits(), bits),
            (Err(error), None) => {
                let Error::NeedsOption { option, .. } = error.root() else { panic!("{error}") };
                assert_eq!(*option, "Options::decimals_as_floats");
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[test]
fn decimals_of_any_scale_are_floats() {
    for (scale, expected) in [(-5, 1e5), (-9, 1e9), (0, 1.), (20, 1e-20)] {
        let array = Decimal128Array::from(vec![1]).with_precision_and_scale(38, scale).unwrap();
        let column = Column::from(array).with(Options::new().decimals_as_floats());
        assert_eq!(column.convert::<Vec<f64>>().unwrap(), [expected]);
    }
}

#[test]
fn what_holds_no_numbers_is_refused_by_type() {
    let empty = Arc::new(Schema::empty());
    let arrays: [ArrayRef; 7] = [
        Arc::new(StringArray::from(vec!["a"])),
        Arc::new(BinaryArray::from(vec![&b"a"[..]])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab"].into_iter()).unwrap()),
        Arc::new(NullArray::new(1)),
        Arc::new(StructArray::new_empty_fields(1, None)),
        Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 3)])),
        Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2]), &Int32Array::from(vec![7])).unwrap()),
    ];
    for array in arrays {
        let error = (&array).convert::<Tensor>().unwrap_err();
        assert!(matches!(error, Error::UnsupportedType { framework: "arrow", .. }), "{error}");
        assert!(array.data_type().exchange::<DataType>().is_err());
    }
    let none = RecordBatch::try_new_with_options(empty, vec![], &RecordBatchOptions::new().with_row_count(Some(3)));
    assert!(matches!(none.unwrap().share::<Tensor>(), Err(Error::Inexpressible { .. })));
    let known: Vec<DataType> =
        DataType::ALL.iter().copied().filter(|dtype| (*dtype).exchange::<ArrowType>().is_ok()).collect();
    assert_eq!(known.len(), 12);
    for dtype in known {
        assert_eq!(dtype.exchange::<ArrowType>().unwrap().exchange(), Ok(dtype));
    }
}
