//! Every pair of frameworks: what `share` and `convert` cost, against the way it is done without dlbridge.

mod today;

use std::hint::black_box;

use dlbridge::arrow::arrow_array::FixedSizeListArray;
use dlbridge::burn::burn_tensor::Tensor as Burn;
use dlbridge::candle::candle_core::Tensor as Candle;
use dlbridge::ndarray::Owned;
use dlbridge::ndarray::ndarray::{ArcArray2, Array2, ArrayView2, Ix2, ShapeBuilder};
use dlbridge::tch::tch::{self, Kind, Tensor as Torch};
use dlbridge::{Bridge, CopyPolicy, Export, Import, Lend, ReadOnly, Tensor};
use dlbridge_benches::allocations::Counting;
use dlbridge_benches::{Group, Session, run, sizes};

use today::{HandOut, TakeIn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A matrix of so many rows of 32.
#[derive(Clone, Copy)]
struct Matrix {
    rows: usize,
    /// Whether the elements of a column are next to each other in memory, and not those of a row.
    is_transposed: bool,
}

const WIDTH: usize = 32;

impl Matrix {
    fn shape(self) -> [usize; 2] {
        [self.rows, WIDTH]
    }

    fn len(self) -> usize {
        self.rows * WIDTH
    }

    /// The shape in memory.
    fn stored(self) -> [i64; 2] {
        let [rows, columns] = self.shape().map(|length| length as i64);
        if self.is_transposed { [columns, rows] } else { [rows, columns] }
    }

    /// The elements. If they will not be read, they are zeros whose pages the system has not even provided yet.
    fn elements(self, are_read: bool) -> Vec<f32> {
        vec![if are_read { 1. } else { 0. }; self.len()]
    }

    fn array(self, are_read: bool) -> Array2<f32> {
        let shape = self.shape().set_f(self.is_transposed);
        Array2::from_shape_vec(shape, self.elements(are_read)).expect("as many elements")
    }

    fn candle(self, are_read: bool) -> Candle {
        let [rows, columns] = self.stored().map(|length| length as usize);
        let stored = today::candle(self.elements(are_read), [rows, columns]);
        if self.is_transposed { stored.t().expect("a matrix") } else { stored }
    }

    fn torch(self, are_read: bool) -> Torch {
        let mut stored = Torch::empty(self.stored(), (Kind::Float, tch::Device::Cpu));
        if are_read {
            stored = stored.fill_(1.);
        }
        if self.is_transposed { stored.tr() } else { stored }
    }

    fn burn(self, are_read: bool) -> Burn<2> {
        let [rows, columns] = self.stored().map(|length| length as usize);
        let stored = today::burn(self.elements(are_read), [rows, columns]);
        if self.is_transposed { stored.transpose() } else { stored }
    }
}

/// The measurements of one matrix.
struct Routes<'s> {
    group: Group<'s>,
    matrix: Matrix,
    /// How many sources exist at once, when sharing is measured and when copies are.
    batches: [u64; 2],
    /// Whether copies are measured, too, with dlbridge and without it.
    copies: bool,
}

impl Routes<'_> {
    /// Measures one source. `make` is told whether the elements will be read.
    fn source<Src: Export<Out> + HandOut, Out>(&mut self, name: &str, make: impl FnMut(bool) -> Src) {
        self.source_with(name, make, |source| source);
    }

    /// As `source`, for a source that is first made into a `T`.
    fn source_with<Src: HandOut, T: Export<Out>, Out>(
        &mut self,
        name: &str,
        mut make: impl FnMut(bool) -> Src,
        tensor: impl Fn(Src) -> T + Copy,
    ) {
        self.target::<_, _, Vec<f32>, _, _>(name, "Vec", &mut make, tensor);
        self.target::<_, _, Array2<f32>, _, _>(name, "Array", &mut make, tensor);
        self.target::<_, _, ArcArray2<f32>, _, _>(name, "ArcArray", &mut make, tensor);
        self.target::<_, _, Owned<f32, Ix2>, _, _>(name, "Owned", &mut make, tensor);
        self.view(name, &mut make, tensor);
        self.target::<_, _, Candle, _, _>(name, "candle", &mut make, tensor);
        self.target::<_, _, Torch, _, _>(name, "tch", &mut make, tensor);
        self.target::<_, _, ReadOnly<Torch>, _, _>(name, "ReadOnly<tch>", &mut make, tensor);
        self.target::<_, _, Burn<2>, _, _>(name, "burn", &mut make, tensor);
        self.target::<_, _, FixedSizeListArray, _, _>(name, "arrow", &mut make, tensor);
    }

    fn target<Src: HandOut, T: Export<Out>, Dst: Import<In> + TakeIn, Out, In>(
        &mut self,
        from: &str,
        to: &str,
        make: &mut impl FnMut(bool) -> Src,
        tensor: impl Fn(Src) -> T,
    ) {
        let (case, [shared, copied]) = (format!("{from} → {to}"), self.batches);
        let tried = tensor(make(true)).convert_with::<Dst>(CopyPolicy::IfNeeded).expect("f32 in host memory");
        let convert = |source| tensor(source).convert::<Dst>();
        match tried.copied {
            None => {
                let share = |source| tensor(source).share::<Dst>();
                self.group.bench_batched(&case, "share", shared, || make(false), share);
                self.group.bench_batched(&case, "convert", shared, || make(false), convert).note("shared");
            }
            Some(reason) if self.copies => {
                self.group.bench_batched(&case, "convert", copied, || make(true), convert).note(reason.to_string());
            }
            Some(_) => {}
        }
        if self.copies {
            let shape = self.matrix.shape();
            let today = |source: Src| source.hand_out(|elements| Dst::take_in(elements, shape));
            self.group.bench_batched(&case, "today", copied, || make(true), today);
        }
    }

    /// Measures a view. It borrows from the tensor, so the routine returns the tensor.
    fn view<Src, T: Export<Out>, Out>(
        &mut self,
        from: &str,
        make: &mut impl FnMut(bool) -> Src,
        tensor: impl Fn(Src) -> T,
    ) {
        let view = |source| -> Result<Tensor, dlbridge::Error> {
            let tensor = tensor(source).share::<Tensor>()?;
            black_box(tensor.lend::<ArrayView2<'_, f32>>()?);
            Ok(tensor)
        };
        if view(make(false)).is_ok() {
            let case = format!("{from} → ArrayView");
            self.group.bench_batched(&case, "share", self.batches[0], || make(false), view);
        }
    }
}

fn pairs(session: &mut Session, name: &str, matrix: Matrix) {
    let bytes = 4 * matrix.len();
    let layout = if matrix.is_transposed { "transposed" } else { "contiguous" };
    let is_large = bytes > 1 << 27;
    // At the small size, as many as fit into the second-level cache; at the large one few, but enough to be timed.
    let batch = ((1 << 26) / bytes).clamp(16, 256) as u64;
    let batches = [batch, if is_large { 1 } else { batch }];
    let group = Group::against_floor(session, format!("{name} f32, {layout}")).briefly();
    let mut routes = Routes { group, matrix, batches, copies: !is_large };
    if !matrix.is_transposed {
        let tensor = |vec| Tensor::new(vec, &matrix.shape()).expect("as many elements");
        routes.source_with("Vec", |read| matrix.elements(read), tensor);
    }
    routes.source("Array", |read| matrix.array(read));
    let kept = matrix.array(true).into_shared();
    routes.source("ArcArray", |_| kept.clone());
    if routes.copies {
        routes.source("ArrayView", |_| kept.view());
    }
    drop(kept);
    routes.source("Owned", |read| matrix.torch(read).share::<Owned<f32, Ix2>>().expect("the only handle"));
    let kept = matrix.candle(true);
    // At the large size, only one source is measured: the cost of a copy depends on the target alone.
    routes.copies = true;
    routes.source("candle", |_| kept.clone());
    routes.copies = !is_large;
    routes.source("ReadOnly<tch>", |_| (&kept).share::<ReadOnly<Torch>>().expect("nobody writes"));
    drop(kept);
    routes.source("tch", |read| matrix.torch(read));
    let kept = matrix.burn(true);
    routes.source("burn", |_| kept.clone());
    drop(kept);
    if !matrix.is_transposed {
        let kept: FixedSizeListArray = matrix.array(true).share().expect("rows");
        routes.source("arrow", |_| kept.clone());
    }
    drop(routes);

    let mut group = Group::against_memcpy(session, format!("copies of {name} f32, {layout}")).briefly();
    group.bytes(bytes);
    let kept = matrix.candle(true);
    let elements = matrix.elements(true);
    let batch = batches[1];
    group.bench_batched("memcpy", "memcpy", batch, || (), |()| elements.to_vec());
    group.bench_batched("Vec", "convert", batch, || &kept, |source| source.convert::<Vec<f32>>());
    group.bench_batched("Array", "convert", batch, || &kept, |source| source.convert::<Array2<f32>>());
    group.bench_batched("tch", "convert", batch, || &kept, |source| source.convert::<Torch>());
    let read_only = || (&kept).share::<ReadOnly<Torch>>().expect("nobody writes");
    group.bench_batched("candle", "convert", batch, read_only, |source| source.convert::<Candle>());
}

fn contiguous(session: &mut Session) {
    for (name, len) in sizes() {
        pairs(session, name, Matrix { rows: len / WIDTH, is_transposed: false });
    }
}

fn transposed(session: &mut Session) {
    for (name, len) in sizes().filter(|(_, len)| *len <= 1 << 20) {
        pairs(session, name, Matrix { rows: len / WIDTH, is_transposed: true });
    }
}

fn main() {
    run("routes", &[contiguous, transposed]);
}
