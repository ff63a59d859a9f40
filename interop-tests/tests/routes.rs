//! The tables in the README are true: the tests make each of them from real tensors and compare.
//!
//! `DLBRIDGE_BLESS=1 cargo test -p interop-tests --all-features --test routes` writes them into the README.
#![cfg(all(feature = "arrow", feature = "burn", feature = "candle", feature = "ndarray", feature = "tch"))]

use dlbridge::arrow::arrow_array::FixedSizeListArray;
use dlbridge::arrow::arrow_schema::DataType as ArrowType;
use dlbridge::burn::burn_std::{DType as BurnDType, TensorData};
use dlbridge::burn::burn_tensor::{Device as BurnDevice, Tensor as Burn};
use dlbridge::candle::candle_core::{DType, Device as CandleDevice, Tensor as Candle};
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, Ix2};
use dlbridge::tch::tch;
use dlbridge::{
    Bridge, CopyPolicy, DataType, Descriptor, Device, Exchange, Export, Flags, Import, ReadOnly, Route, Tensor,
};
use interop_tests::peer::rust_has;
use interop_tests::publish::{Section, publish};
use interop_tests::raw::{Abi, Producer};
use interop_tests::report::markdown;
use tch::Tensor as Torch;

fn array() -> Array2<f32> {
    Array2::from_shape_fn((2, 3), |(row, column)| (3 * row + column) as f32)
}

fn candle() -> Candle {
    Candle::arange(0f32, 6., &CandleDevice::Cpu).unwrap().reshape((2, 3)).unwrap()
}

fn torch() -> Torch {
    Torch::arange(6, (tch::Kind::Float, tch::Device::Cpu)).reshape([2, 3])
}

fn arrow() -> FixedSizeListArray {
    array().share().unwrap()
}

fn burn() -> Burn<2> {
    let elements = array().into_raw_vec_and_offset().0;
    Burn::from_data(TensorData::new(elements, [2, 3]), &BurnDevice::flex())
}

fn foreign() -> Tensor {
    let elements = [0., 1., 2., 3., 4., 5.];
    // SAFETY: a well-formed producer over its own memory, which nobody else uses.
    unsafe { Producer::f32(&[2, 3], &elements).import(Abi::Versioned) }.unwrap()
}

/// Tries out what happens to a tensor on its way to a `Dst`: the memory is shared, or it is copied, or the conversion
/// is impossible. `route` must say the same in advance, unless the source cannot foresee (`foresees` is false) that it
/// will be the only handle.
fn outcome<Src, Dst, Out, In, Back>(make: impl Fn() -> Src, foresees: bool) -> &'static str
where
    Src: Export<Out>,
    Dst: Import<In> + Export<Back>,
{
    let address = |tensor: &Descriptor<'_>, _| tensor.data() as usize;
    let back = |value: Dst| {
        let tensor: Tensor = value.share().unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [0., 1., 2., 3., 4., 5.]);
        tensor.data() as usize
    };
    let route = make().route::<Dst>();
    let source = make();
    let data = source.describe(address).unwrap();
    if let Ok(shared) = source.share::<Dst>() {
        assert_eq!(back(shared), data);
        assert!(route == Route::Shared || !foresees && matches!(route, Route::Copied(_)), "{route}");
        return "shared";
    }
    let source = make();
    let data = source.describe(address).unwrap();
    match source.convert_with::<Dst>(CopyPolicy::IfNeeded) {
        Ok(copied) => {
            assert_eq!(Some(route), copied.copied.map(Route::Copied));
            assert_ne!(back(copied.value), data);
            "one copy"
        }
        Err(error) => {
            assert_eq!(route, Route::Impossible(error));
            "impossible"
        }
    }
}

macro_rules! rows {
    ($($name:literal: $make:expr, $foresees:literal;)*) => {
        [$([
            $name,
            outcome::<_, Array2<f32>, _, _, _>($make, $foresees),
            outcome::<_, ArcArray2<f32>, _, _, _>($make, $foresees),
            outcome::<_, Owned<f32, Ix2>, _, _, _>($make, $foresees),
            outcome::<_, Candle, _, _, _>($make, $foresees),
            outcome::<_, Torch, _, _, _>($make, $foresees),
            outcome::<_, ReadOnly<Torch>, _, _, _>($make, $foresees),
            outcome::<_, Burn<2>, _, _, _>($make, $foresees),
            outcome::<_, FixedSizeListArray, _, _, _>($make, $foresees),
        ].map(str::to_owned).to_vec()),*]
    };
}

#[test]
fn routes() {
    let (kept_array, kept_torch, kept_source) = (array().into_shared(), torch(), array());
    let (kept_arrow, kept_burn) = (arrow(), burn());
    let view: ArrayView2<'_, f32> = kept_source.view();
    let rows = rows! {
        "`ndarray::Array`, `Vec`": array, true;
        "`ndarray::ArcArray`, held by others": || kept_array.clone(), true;
        "`ndarray::ArrayView`": || view, true;
        "`ndarray::Owned`": || foreign().share::<Owned<f32, Ix2>>().unwrap(), true;
        "`candle::Tensor`": candle, true;
        "`tch::Tensor`, the only handle": torch, true;
        "`tch::Tensor`, held by others": || kept_torch.shallow_clone(), true;
        "`ReadOnly<tch::Tensor>`": || candle().share::<ReadOnly<Torch>>().unwrap(), true;
        "`burn::Tensor`, the only handle": burn, true;
        "`burn::Tensor`, held by others": || kept_burn.clone(), true;
        "an Arrow array of numbers or lists, the only handle": arrow, false;
        "an Arrow array, held by others or mapped": || kept_arrow.clone(), true;
        "a raw tensor from C, writable": foreign, true;
        "a raw tensor from C, read-only": || foreign().into_read_only(), true;
    };
    let header = [
        "from \\ to",
        "`Array`",
        "`ArcArray`",
        "`Owned`, `ArrayView`",
        "`candle::Tensor`",
        "`tch::Tensor`",
        "`ReadOnly<tch::Tensor>`",
        "`burn::Tensor`",
        "Arrow arrays",
    ];
    let table = markdown(&header, rows);
    publish("README.md", Section::Named("routes"), &table).unwrap();
    publish("interop-tests/MATRIX.md", Section::Named("routes"), &table).unwrap();
}

#[test]
fn dtypes() {
    let memory = [0u128; 2];
    let mut rows = Vec::new();
    for dtype in DataType::ALL {
        let tensor = Descriptor::new(memory.as_ptr().cast(), *dtype, Device::CPU, Flags::empty(), &[1], None).unwrap();
        let torch = !matches!(Torch::plan(&tensor), Route::Impossible(_));
        let kind = if dtype.exchange::<tch::Kind>().is_ok() { "yes" } else { "yes, without a `Kind`" };
        rows.push(vec![
            format!("`{dtype}`"),
            if rust_has(*dtype) { "yes" } else { "–" }.to_owned(),
            if dtype.exchange::<DType>().is_ok() { "yes" } else { "–" }.to_owned(),
            if torch { kind } else { "–" }.to_owned(),
            if dtype.exchange::<BurnDType>().is_ok() { "yes" } else { "–" }.to_owned(),
            if dtype.exchange::<ArrowType>().is_ok() { "yes" } else { "–" }.to_owned(),
        ]);
    }
    let table = markdown(&["dtype", "Rust, ndarray", "candle", "tch", "burn", "Arrow"], rows);
    publish("README.md", Section::Named("dtypes"), &table).unwrap();
}
