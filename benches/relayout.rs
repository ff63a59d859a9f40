//! Strided elements made contiguous, against ndarray, libtorch on one thread, and a plain copy of as many bytes.

use std::fmt::Debug;
use std::sync::Arc;

use dlbridge::candle::candle_core::Tensor as Candle;
use dlbridge::ndarray::ndarray::{ArrayD, ArrayViewD};
use dlbridge::tch::tch::Tensor as Torch;
use dlbridge::{Bridge, Device, Element, Flags, Import, Lend, Memory, ReadOnly, Tensor};
use dlbridge_benches::{Group, Session, is_measured, run};

/// A layout over a buffer, in elements.
struct Layout {
    name: &'static str,
    shape: &'static [usize],
    strides: &'static [i64],
}

const fn layout(name: &'static str, shape: &'static [usize], strides: &'static [i64]) -> Layout {
    Layout { name, shape, strides }
}

/// The number of elements in a buffer that can hold every layout.
const BUFFER: usize = 1 << 22;

/// Each layout has about 2M elements: more than the caches hold, but few enough that the allocator keeps the memory of
/// a copy for the next one. The time is then that of the copies, without that of getting new pages from the system.
const LAYOUTS: &[Layout] = &[
    layout("contiguous", &[2048, 1024], &[1024, 1]),
    layout("transposed", &[2100, 1000], &[1, 2100]),
    layout("transposed, powers of 2", &[2048, 1024], &[1, 2048]),
    layout("every second column", &[2048, 1024], &[2048, 2]),
    layout("every second row", &[1024, 2048], &[4096, 1]),
    layout("three axes in reverse order", &[128, 128, 120], &[1, 128, 16384]),
    layout("NCHW to NHWC, 64 channels", &[4, 90, 90, 64], &[518_400, 90, 1, 8100]),
    layout("NHWC to NCHW, 64 channels", &[4, 64, 90, 90], &[518_400, 1, 5760, 64]),
    layout("NHWC to NCHW, 3 channels", &[14, 3, 224, 224], &[150_528, 1, 672, 3]),
    layout("rows reversed", &[2048, 1024], &[-1024, 1]),
    layout("columns reversed", &[2048, 1024], &[1024, -1]),
    layout("a row broadcast", &[2048, 1024], &[0, 1]),
    layout("a column broadcast", &[2048, 1024], &[1, 0]),
];

impl Layout {
    /// The shape, made smaller if nothing is measured. The strides stay the same.
    fn shape(&self) -> Vec<usize> {
        self.shape.iter().map(|length| if is_measured() { *length } else { length.div_ceil(8) }).collect()
    }

    fn tensor<T: Element + Sync + Send>(&self, buffer: &Arc<Vec<T>>) -> Tensor {
        let shape = self.shape();
        // How far the layout reaches from its first element towards higher (`sign` is 1) or lower addresses.
        let reach = |sign: i64| -> i64 {
            let reaches =
                self.strides.iter().zip(&shape).map(|(stride, length)| (sign * stride).max(0) * (*length as i64 - 1));
            reaches.sum()
        };
        let start = reach(-1) as usize;
        assert!(start + (reach(1) as usize) < buffer.len(), "{}", self.name);
        let memory = Memory { dtype: T::DTYPE, device: Device::CPU, flags: Flags::READ_ONLY, is_valid: true };
        let describe = |buffer: &mut Arc<Vec<T>>, lengths: &mut [i64], strides: &mut [i64]| {
            lengths.iter_mut().zip(&shape).for_each(|(length, given)| *length = *given as i64);
            strides.copy_from_slice(self.strides);
            buffer[start..].as_ptr().cast_mut().cast()
        };
        // SAFETY: the layout stays within the buffer, as asserted, which nobody writes.
        unsafe { Tensor::from_owner(buffer.clone(), memory, shape.len(), describe) }
    }
}

fn relayout<T: Element + Sync + Send + Debug + PartialEq>(session: &mut Session, dtype: &str, element: fn(usize) -> T) {
    let buffer: Arc<Vec<T>> = Arc::new((0..BUFFER).map(element).collect());
    let mut group = Group::against_memcpy(session, format!("{dtype} made contiguous"));
    for layout in LAYOUTS {
        let (case, tensor) = (layout.name, layout.tensor(&buffer));
        group.bytes(tensor.view().nbytes());
        group.bench(case, "dlbridge", || tensor.to_vec::<T>());
        let array: ArrayViewD<'_, T> = tensor.lend().expect("any layout");
        group.bench(case, "ndarray", || array.as_standard_layout().into_owned());
        // libtorch has no negative strides, so it reverses the axis with `flip`, which copies.
        let flipped = layout.strides.iter().position(|stride| *stride < 0);
        let strides: Vec<i64> = layout.strides.iter().map(|stride| stride.abs()).collect();
        let torch: ReadOnly<Torch> = match flipped {
            None => layout.tensor(&buffer),
            Some(_) => Layout { strides: strides.leak(), ..*layout }.tensor(&buffer),
        }
        .share()
        .expect("no negative strides");
        let copy = || match flipped {
            None => torch.copy_contiguous(),
            Some(axis) => torch.flip([axis as i64]),
        };
        assert!(tensor.to_vec::<T>() == copy().share::<Tensor>().and_then(|copy| copy.to_vec()), "{case}");
        group.bench(case, "libtorch", copy);
        if T::DTYPE == f32::DTYPE {
            group.bench(case, "dlbridge into candle", || Candle::import_copy(&tensor.view()));
            group.bench(case, "dlbridge into ndarray", || ArrayD::<T>::import_copy(&tensor.view()));
        }
    }
}

trait CopyContiguous {
    fn copy_contiguous(&self) -> Torch;
}

impl CopyContiguous for Torch {
    /// As `contiguous`, but copies even if the tensor is contiguous already.
    fn copy_contiguous(&self) -> Torch {
        let mut copy = Torch::empty(self.size(), (self.kind(), self.device()));
        copy.copy_(self);
        copy
    }
}

fn main() {
    run(
        "relayout",
        &[
            |session| relayout::<f32>(session, "f32", |n| n as f32),
            |session| relayout::<f64>(session, "f64", |n| n as f64),
            |session| relayout::<u8>(session, "u8", |n| n as u8),
        ],
    );
}
