//! The time that each framework takes for the same operation on the same elements, which dlbridge shares with all of
//! them without a copy. The results are compared before anything is timed.

use candle_nn::ops::softmax_last_dim;
#[expect(deprecated, reason = "burn has deprecated the backend; it is still used")]
use dlbridge::burn::burn_ndarray::{NdArray, NdArrayTensor};
use dlbridge::burn::burn_std::ops::ConvOptions;
use dlbridge::burn::burn_tensor::{Tensor as Burn, activation, module};
use dlbridge::candle::candle_core::{Device, Tensor as Candle, WithDType};
use dlbridge::ndarray::ndarray::{Array, Array2, ArrayView2, Axis, Dimension, NdFloat};
use dlbridge::tch::tch::Tensor as Torch;
use dlbridge::{Bridge, DataType, Element, Lend, ReadOnly, Tensor};
use dlbridge_benches::{Group, Session, is_measured, run};
use half::bf16;

/// The element types with which every framework computes.
trait Number: Element + WithDType + NdFloat {}

impl Number for f32 {}
impl Number for f64 {}

/// The same elements in every framework.
struct Shared {
    tensor: Tensor,
    candle: Candle,
    torch: ReadOnly<Torch>,
}

impl Shared {
    /// Numbers between −1 and 1.
    fn new<T: Element + WithDType>(shape: &[usize]) -> Self {
        let elements = (0..shape.iter().product()).map(|n: usize| T::from_f64((n * 7919 % 2003) as f64 / 1001.5 - 1.));
        let candle = Candle::from_vec(elements.collect::<Vec<_>>(), shape, &Device::Cpu).expect("as many elements");
        let tensor: Tensor = (&candle).share().expect("dense");
        let torch: ReadOnly<Torch> = (&candle).share().expect("dense");
        assert_eq!(dlbridge::tch::data_ptr(&torch), Ok(tensor.data()));
        Self { tensor, candle, torch }
    }

    fn view<T: Element>(&self) -> ArrayView2<'_, T> {
        self.tensor.lend().expect("a matrix")
    }

    /// The same elements on flex, burn's current CPU backend.
    fn flex<const D: usize>(&self) -> Burn<D> {
        let burn: Burn<D> = (&self.candle).share().expect("dense");
        let back: Tensor = (&burn).share().expect("dense");
        assert_eq!(back.data(), self.tensor.data());
        burn
    }

    /// The same elements on ndarray, burn's former CPU backend.
    #[expect(deprecated, reason = "as above")]
    fn burn_ndarray<const D: usize>(&self) -> Burn<D> {
        let primitive: NdArrayTensor = (&self.candle).share().expect("dense");
        assert!(primitive.is_borrowed());
        Burn::from_primitive::<NdArray>(primitive)
    }
}

/// One case. All results must be like the first one.
struct Case<'c, 's> {
    group: &'c mut Group<'s>,
    name: String,
    expected: Option<Vec<f64>>,
    tolerance: f64,
}

impl<'c, 's> Case<'c, 's> {
    fn new(group: &'c mut Group<'s>, name: impl Into<String>, tolerance: f64) -> Self {
        Self { group, name: name.into(), expected: None, tolerance }
    }

    fn by<T: Host>(&mut self, contender: &str, routine: impl Fn() -> T) {
        let result = numbers(&routine().host());
        match &self.expected {
            None => self.expected = Some(result),
            Some(expected) => assert_close(&result, expected, self.tolerance, &format!("{}: {contender}", self.name)),
        }
        self.group.bench(&self.name, contender, routine);
    }
}

/// A result that can be compared in host memory.
trait Host {
    fn host(self) -> Tensor;
}

impl<T: Element, D: Dimension + Send + 'static> Host for Array<T, D> {
    fn host(self) -> Tensor {
        self.share().expect("numbers")
    }
}

impl Host for Candle {
    fn host(self) -> Tensor {
        self.share().expect("numbers")
    }
}

impl Host for Torch {
    fn host(self) -> Tensor {
        self.share().expect("numbers")
    }
}

impl<const D: usize> Host for Burn<D> {
    fn host(self) -> Tensor {
        dlbridge::burn::to_host(&self).expect("numbers")
    }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    match tensor.dtype() {
        DataType::FLOAT64 => tensor.to_vec().expect("host memory"),
        DataType::FLOAT32 => tensor.to_vec::<f32>().expect("host memory").into_iter().map(f64::from).collect(),
        _ => tensor.to_vec::<bf16>().expect("host memory").into_iter().map(f64::from).collect(),
    }
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0f64, |most, number| most.max(number.abs()));
    let worst = found.iter().zip(expected).fold(0f64, |most, (found, expected)| most.max((found - expected).abs()));
    assert!(worst <= tolerance * scale, "{what}: off by {worst}, of {scale}");
}

/// A length, made smaller if nothing is measured.
fn sized(length: usize) -> usize {
    if is_measured() { length } else { length.min(16) }
}

fn matmul(session: &mut Session) {
    let mut group = Group::among_themselves(session, "matmul");
    for side in [64, 256, 1024] {
        matmul_of::<f32>(&mut group, "f32", side, 1e-5);
    }
    matmul_of::<f64>(&mut group, "f64", 256, 1e-13);
    let mut case = Case::new(&mut group, "256 × 256, bf16", 2e-2);
    let [a, b] = [(); 2].map(|()| Shared::new::<bf16>(&[sized(256); 2]));
    case.by("candle", || a.candle.matmul(&b.candle).expect("two matrices"));
    case.by("tch", || a.torch.matmul(&b.torch));
    let (a, b) = (a.flex::<2>(), b.flex::<2>());
    case.by("burn, flex", || a.clone().matmul(b.clone()));
}

fn matmul_of<T: Number>(group: &mut Group<'_>, dtype: &str, side: usize, tolerance: f64) {
    let mut case = Case::new(group, format!("{side} × {side}, {dtype}"), tolerance);
    let [a, b] = [(); 2].map(|()| Shared::new::<T>(&[sized(side); 2]));
    case.by("ndarray", || a.view::<T>().dot(&b.view::<T>()));
    case.by("candle", || a.candle.matmul(&b.candle).expect("two matrices"));
    case.by("tch", || a.torch.matmul(&b.torch));
    for (name, a, b) in [("burn, flex", a.flex::<2>(), b.flex()), ("burn, ndarray", a.burn_ndarray(), b.burn_ndarray())]
    {
        case.by(name, || a.clone().matmul(b.clone()));
    }
}

/// `exp(-x²) + x`: four operations, or a single pass if the framework has an interface for that.
fn elementwise(session: &mut Session) {
    let mut group = Group::among_themselves(session, "elementwise: exp(-x²) + x");
    elementwise_of::<f32>(&mut group, "16K, f32", 128, 1e-5);
    elementwise_of::<f32>(&mut group, "1M, f32", 1024, 1e-5);
    elementwise_of::<f64>(&mut group, "1M, f64", 1024, 1e-12);
}

fn elementwise_of<T: Number>(group: &mut Group<'_>, name: &str, side: usize, tolerance: f64) {
    let mut case = Case::new(group, name, tolerance);
    let x = Shared::new::<T>(&[sized(side); 2]);
    case.by("ndarray", || x.view::<T>().mapv(|x| (-(x * x)).exp() + x));
    case.by("candle", || (|| x.candle.sqr()?.neg()?.exp()? + &x.candle)().expect("floats"));
    case.by("tch", || x.torch.square().neg().exp() + &*x.torch);
    for (name, x) in [("burn, flex", x.flex::<2>()), ("burn, ndarray", x.burn_ndarray())] {
        case.by(name, || (x.clone() * x.clone()).neg().exp() + x.clone());
    }
}

fn reductions(session: &mut Session) {
    let mut group = Group::among_themselves(session, "sum of 1024 × 1024 along an axis");
    for (name, axis) in [("rows, f32", 0), ("columns, f32", 1)] {
        sum_of::<f32>(&mut group, name, axis, 1e-4);
    }
    for (name, axis) in [("rows, f64", 0), ("columns, f64", 1)] {
        sum_of::<f64>(&mut group, name, axis, 1e-12);
    }
}

fn sum_of<T: Number>(group: &mut Group<'_>, name: &str, axis: usize, tolerance: f64) {
    let mut case = Case::new(group, name, tolerance);
    let x = Shared::new::<T>(&[sized(1024); 2]);
    case.by("ndarray", || x.view::<T>().sum_axis(Axis(axis)));
    case.by("candle", || x.candle.sum(axis).expect("a matrix"));
    case.by("tch", || x.torch.sum_dim_intlist(axis as i64, false, None));
    for (name, x) in [("burn, flex", x.flex::<2>()), ("burn, ndarray", x.burn_ndarray())] {
        case.by(name, || x.clone().sum_dim(axis));
    }
}

fn softmax(session: &mut Session) {
    let mut group = Group::among_themselves(session, "softmax of rows");
    softmax_of::<f32>(&mut group, "128 × 128, f32", 128, 1e-5);
    softmax_of::<f32>(&mut group, "1024 × 1024, f32", 1024, 1e-5);
    softmax_of::<f64>(&mut group, "1024 × 1024, f64", 1024, 1e-12);
}

fn softmax_of<T: Number>(group: &mut Group<'_>, name: &str, side: usize, tolerance: f64) {
    let mut case = Case::new(group, name, tolerance);
    let x = Shared::new::<T>(&[sized(side); 2]);
    case.by("ndarray", || softmax_in_place(x.view::<T>().to_owned()));
    case.by("candle", || softmax_last_dim(&x.candle).expect("floats"));
    case.by("tch", || x.torch.softmax(1, None));
    for (name, x) in [("burn, flex", x.flex::<2>()), ("burn, ndarray", x.burn_ndarray())] {
        case.by(name, || activation::softmax(x.clone(), 1));
    }
}

/// ndarray has no softmax, so this is what its users write.
fn softmax_in_place<T: Number>(mut array: Array2<T>) -> Array2<T> {
    for mut row in array.rows_mut() {
        let most = row.fold(T::neg_infinity(), |most, x| if *x > most { *x } else { most });
        row.mapv_inplace(|x| (x - most).exp());
        let sum = row.sum();
        row.mapv_inplace(|x| x / sum);
    }
    array
}

/// ndarray has no convolution.
fn convolution(session: &mut Session) {
    let mut group = Group::among_themselves(session, "convolution, 3 × 3, padded");
    for (name, side, channels) in
        [("32 × 32, 64 to 64 channels, f32", 32, [64, 64]), ("224 × 224, 3 to 32 channels, f32", 224, [3, 32])]
    {
        let mut case = Case::new(&mut group, name, 1e-4);
        let [from, to] = channels;
        let x = Shared::new::<f32>(&[1, from, sized(side), sized(side)]);
        let w = Shared::new::<f32>(&[to, from, 3, 3]);
        case.by("candle", || x.candle.conv2d(&w.candle, 1, 1, 1, 1).expect("an image"));
        let bias = None::<Torch>;
        case.by("tch", || x.torch.conv2d(&w.torch, bias.as_ref(), 1, 1, 1, 1));
        for (name, x, w) in
            [("burn, flex", x.flex::<4>(), w.flex()), ("burn, ndarray", x.burn_ndarray(), w.burn_ndarray())]
        {
            let options = ConvOptions::new([1, 1], [1, 1], [1, 1], 1);
            case.by(name, || module::conv2d(x.clone(), w.clone(), None, options.clone()));
        }
    }
}

fn main() {
    run("frameworks", &[matmul, elementwise, reductions, softmax, convolution]);
}
