//! The sections of the report: what each program measures, in words.

/// One program's section.
pub(crate) struct Section {
    pub(crate) program: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// In the order of the report.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        program: "routes",
        title: "Every route",
        text: "From each type to each other: `share`, and `convert`, which copies once where `share` cannot. *Today* is \
               how it is done without dlbridge, in the cheapest way that the frameworks' own interfaces have: a slice or \
               a vector out (`to_vec1`, `Vec::try_from`, `into_data`), and in again (`from_vec`, `from_slice`, \
               `Tensor::from_data`). The matrices have rows of 32; transposed ones lie in memory column by column. \
               Neither making the source nor dropping the result is within the time. `ArcArray`, `burn` and `arrow` are \
               held by another handle, too; `tch` is the only handle. At 64M elements, copies are measured from candle \
               only.",
    },
    Section {
        program: "peers",
        title: "Rust peers",
        text: "The other DLPack crates on what they can do. By value, making the source is not within the time, dropping \
               the result is.",
    },
    Section {
        program: "libtorch",
        title: "libtorch's own exchange",
        text: "Against the C++ functions that PyTorch itself calls, and against `at::from_blob`; dropped within the time.",
    },
    Section {
        program: "burn",
        title: "burn",
        text: "Against burn's own way in and out, `TensorData`. *Then + 1* is the first operation that burn would do in \
               place: it copies what is shared.",
    },
    Section {
        program: "relayout",
        title: "Strided to contiguous",
        text: "The copy that makes strided elements row-major, into new memory, on one thread: `Tensor::to_vec` and \
               imports with a copy, against ndarray's `as_standard_layout`, libtorch's `copy_` (`flip` where strides are \
               negative, which it lacks), and a memcpy of as many bytes.",
    },
    Section {
        program: "frameworks",
        title: "The frameworks on the same memory",
        text: "One operation on the same elements, shared with every framework without a copy, the results compared \
               before anything is timed. ndarray's elementwise chain is one `mapv`; its softmax is written by hand; \
               candle's is candle-nn's. burn's old backend ndarray copies shared memory in most operations.",
    },
    Section {
        program: "arrow",
        title: "Arrow files and columns",
        text: "A mapped IPC file as tensors, against reading and copying it; and columns made row-major.",
    },
    Section {
        program: "adopting",
        title: "The adopting allocator",
        text: "What it saves candle, and what it costs everybody else: ordinary blocks beside the system's allocator, in \
               turns, while so many foreign blocks are adopted.",
    },
];
