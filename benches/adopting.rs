//! What the adopting allocator costs for ordinary blocks of memory, and what it saves when candle imports 256 MiB.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use dlbridge::adopting::{Adopting, LEAST, adopt};
use dlbridge::arrow::arrow_array::Float32Array;
use dlbridge::arrow::arrow_buffer::Buffer;
use dlbridge::candle::candle_core::{Device, Tensor as Candle};
use dlbridge::ndarray::ndarray::Array2;
use dlbridge::tch::tch;
use dlbridge::{Bridge, ReadOnly, Tensor};
use dlbridge_benches::{Group, Session, is_measured, run};
use dlpark::TryFromDlpack;
use dlpark::ffi::DLManagedTensorVersioned as ParkTensor;
use dlpark::versioned::Dlpack;
use tch::{Kind, Tensor as Torch};

#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

/// Allocates and frees a block. It is not inlined, because Rust's own calls of the allocator are not either.
#[inline(never)]
fn pair<A: GlobalAlloc>(allocator: &A, layout: Layout) {
    // SAFETY: the size is not 0.
    let block = black_box(unsafe { allocator.alloc(layout) });
    // SAFETY: just allocated with this layout.
    unsafe { allocator.dealloc(block, layout) };
}

fn time<A: GlobalAlloc>(allocator: &A, layout: Layout, count: usize) -> f64 {
    let start = Instant::now();
    (0..count).for_each(|_| pair(allocator, black_box(layout)));
    start.elapsed().as_secs_f64() / count as f64
}

/// The times to allocate and free a block on so many threads, in nanoseconds, and their ratios to the times of the
/// system's allocator. The two allocators are measured in turns.
fn overhead(size: usize, threads: usize) -> (Vec<f64>, Vec<f64>) {
    let layout = Layout::from_size_align(size, 8).expect("a small layout");
    let count = if size < 4096 { 100_000 } else { 20_000 };
    let round = move |round: usize| {
        let (plain, wrapped) = match round % 2 {
            0 => {
                let plain = time(&System, layout, count);
                (plain, time(&ALLOCATOR, layout, count))
            }
            _ => {
                let wrapped = time(&ALLOCATOR, layout, count);
                (time(&System, layout, count), wrapped)
            }
        };
        (wrapped * 1e9, wrapped / plain)
    };
    let rounds = if is_measured() { 41 } else { 1 };
    let handles: Vec<_> =
        (0..threads).map(|_| thread::spawn(move || (0..rounds).map(round).collect::<Vec<_>>())).collect();
    handles.into_iter().flat_map(|handle| handle.join().expect("no panic")).unzip()
}

/// Adopts so many foreign blocks as vectors, which overlap. They stay adopted while the result lives.
fn keep_adopted(count: usize) -> Vec<Vec<f32>> {
    /// How far apart they begin: each in a line of the cache of its own.
    const STEP: usize = 64 / size_of::<f32>();
    const LEN: usize = LEAST / size_of::<f32>();
    let memory: Arc<[f32]> = vec![0f32; count * STEP + LEN].into();
    let block = |at: usize| {
        let elements = memory[at * STEP..].as_ptr().cast_mut();
        // SAFETY: zeros that the owner keeps, and that nobody writes.
        unsafe { adopt(elements, LEN, memory.clone()) }.map_err(|rejected| rejected.error).expect("it is installed")
    };
    (0..count).map(block).collect()
}

/// Measured without criterion, because the two allocators have to take turns.
fn ordinary_blocks(session: &mut Session) {
    let title = "an ordinary block, allocated and freed by Adopting<System>";
    let mut group = Group::against(session, title, "the system's");
    for adopted in [0, 1, 1000] {
        let _kept = keep_adopted(adopted);
        for (threads, on) in [(1, "one thread"), (2, "two threads")] {
            for (name, size) in
                [("16 B", 16), ("512 B", 512), ("4 KiB", 4096), ("16 KiB", 16 << 10), ("64 KiB", 64 << 10)]
            {
                let (nanos, ratios) = overhead(size, threads);
                let contender = format!("{adopted} adopted, {on}");
                group.row(name, &contender, nanos, ratios, None);
            }
        }
    }
}

/// How the cost of an ordinary block grows with the number of adopted ones.
fn growth(session: &mut Session) {
    let title = "an ordinary block, while many foreign ones are adopted";
    let mut group = Group::against(session, title, "the system's");
    for adopted in [0, 1_000, 100_000, 1_000_000] {
        let _kept = keep_adopted(if is_measured() { adopted } else { adopted.min(2_000) });
        for (name, size) in [("16 KiB", 16 << 10), ("64 KiB", 64 << 10)] {
            let (nanos, ratios) = overhead(size, 1);
            group.row(name, &format!("{adopted} adopted"), nanos, ratios, None);
        }
    }
}

fn into_candle(session: &mut Session) {
    let len: usize = if is_measured() { 64 << 20 } else { 1 << 16 };
    let mut group = Group::against_memcpy(session, "64M f32 into candle").briefly();
    group.bytes(4 * len);
    let torch = Torch::zeros([len as i64], (Kind::Float, tch::Device::Cpu));
    // SAFETY: nobody writes the tensor meanwhile.
    let share = || unsafe { dlbridge::tch::export_shared(&torch) }.expect("a dense tensor");
    group.bench("libtorch's", "dlbridge, adopted", || share().share::<Candle>());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("elements");
    std::fs::write(&path, vec![0u8; 4 * len]).expect("room on the disk");
    group.bench("a mapped file", "dlbridge, adopted", || {
        let column = Float32Array::new(map(&path).into(), None);
        column.share::<ReadOnly<Candle>>().expect("floats")
    });
    group.bench("libtorch's", "dlbridge's one copy", || {
        let tensor: Tensor = share();
        tensor.convert_with::<Candle>(dlbridge::CopyPolicy::Always)
    });
    let tensor = share();
    let elements = tensor.as_slice::<f32>().expect("contiguous");
    group.bench("libtorch's", "candle's from_slice", || Candle::from_slice(elements, len, &Device::Cpu));
    let array = Array2::<f32>::zeros((len / 256, 256));
    let parts: dlpark::allocation::dynamic::Initialized<ParkTensor> = Box::new(array).try_into().expect("an array");
    // SAFETY: dlpark's conversion of an array fills in everything.
    let park: Dlpack = unsafe { parts.finish() };
    // SAFETY: the tensor is alive, and candle copies.
    group.bench("an array", "dlpark's import", || unsafe { Candle::try_from_dlpack(&park, ()) }.expect("floats"));
}

fn map(path: &Path) -> Buffer {
    let file = std::fs::File::open(path).expect("a file");
    // SAFETY: nobody writes the temporary file.
    let map = unsafe { memmap2::Mmap::map(&file) }.expect("a map");
    let (data, len) = (NonNull::from(&*map).cast(), map.len());
    // SAFETY: the map has `len` bytes there as long as it lives.
    unsafe { Buffer::from_custom_allocation(data, len, Arc::new(map)) }
}

fn main() {
    run("adopting", &[ordinary_blocks, growth, into_candle]);
}
