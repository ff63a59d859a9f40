//! A whole adapter, for a framework that is made up for it: the program of the guide for writers of adapters.
#![allow(missing_docs, unreachable_pub, reason = "the modules stand for crates, whose names say enough here")]

use std::sync::Arc;

use dlbridge_core::{
    Bridge, DataType, Device, Error, Exchange, Export, Flags, Lend, Memory, ReadOnly, Reason, Route, Tensor,
};

use grid::{Grid, GridView, Kind};

/// The framework, which knows nothing of DLPack.
pub mod grid {
    use std::any::Any;
    use std::marker::PhantomData;
    use std::slice;
    use std::sync::Arc;

    /// What the cells of a grid are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        Byte,
        Index,
        Real,
        Glyph,
    }

    /// The Rust type of a kind of cells.
    pub trait Cell: Copy + Send + Sync + 'static {
        const KIND: Kind;
    }

    impl Cell for u8 {
        const KIND: Kind = Kind::Byte;
    }

    impl Cell for i64 {
        const KIND: Kind = Kind::Index;
    }

    impl Cell for f32 {
        const KIND: Kind = Kind::Real;
    }

    impl Cell for char {
        const KIND: Kind = Kind::Glyph;
    }

    /// Cells along any number of axes. Clones share the memory, which can be written while there is one handle only.
    #[derive(Clone)]
    pub struct Grid {
        block: Arc<Block>,
        kind: Kind,
        shape: Vec<usize>,
        strides: Vec<usize>,
    }

    struct Block {
        data: *mut u8,
        frozen: bool,
        _keep: Box<dyn Any + Send>,
    }

    // SAFETY: the memory is written only by whoever has the one handle; what keeps it is only ever dropped.
    unsafe impl Send for Block {}
    // SAFETY: as above.
    unsafe impl Sync for Block {}

    impl Grid {
        pub fn new<T: Cell>(mut cells: Vec<T>, shape: &[usize]) -> Self {
            assert_eq!(cells.len(), shape.iter().product::<usize>());
            let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
            let data = cells.as_mut_ptr().cast();
            // SAFETY: the vector has its cells to itself, and they stay in place while it is kept.
            unsafe { Self::from_memory(data, T::KIND, shape.to_vec(), strides, false, Box::new(cells)) }
        }

        /// A grid over memory that `keep` keeps alive. A frozen one is never written.
        ///
        /// # Safety
        /// All that lies between the first cell and the last is readable, aligned, and written by nobody else. Unless
        /// the grid is frozen, nobody else reads it, and the grid may write it.
        pub unsafe fn from_memory(
            data: *mut u8,
            kind: Kind,
            shape: Vec<usize>,
            strides: Vec<usize>,
            frozen: bool,
            keep: Box<dyn Any + Send>,
        ) -> Self {
            Self { block: Arc::new(Block { data, frozen, _keep: keep }), kind, shape, strides }
        }

        pub fn kind(&self) -> Kind {
            self.kind
        }

        pub fn shape(&self) -> &[usize] {
            &self.shape
        }

        pub fn strides(&self) -> &[usize] {
            &self.strides
        }

        /// The first cell.
        pub fn data(&self) -> *mut u8 {
            self.block.data
        }

        pub fn is_frozen(&self) -> bool {
            self.block.frozen
        }

        /// How many handles share the memory at this moment.
        pub fn handles(&self) -> usize {
            Arc::strong_count(&self.block)
        }

        /// Whether the cells can be written: the grid is not frozen, and this is the only handle.
        pub fn is_writable(&mut self) -> bool {
            Arc::get_mut(&mut self.block).is_some_and(|block| !block.frozen)
        }

        pub fn transposed(mut self) -> Self {
            self.shape.reverse();
            self.strides.reverse();
            self
        }

        /// Everything from the first cell to the last, with what lies between the cells.
        pub fn span_mut<T: Cell>(&mut self) -> Option<&mut [T]> {
            if !self.is_writable() || T::KIND != self.kind {
                return None;
            }
            if self.shape.contains(&0) {
                return Some(&mut []);
            }
            let steps = self.shape.iter().zip(&self.strides).map(|(length, stride)| (length - 1) * stride);
            // SAFETY: the promise of `from_memory`; this is the only handle, and it is borrowed.
            Some(unsafe { slice::from_raw_parts_mut(self.block.data.cast(), 1 + steps.sum::<usize>()) })
        }
    }

    /// Cells of one type, borrowed for reading.
    pub struct GridView<'a, T> {
        first: *const T,
        shape: Vec<usize>,
        strides: Vec<usize>,
        cells: PhantomData<&'a [T]>,
    }

    impl<T: Cell> GridView<'_, T> {
        /// # Safety
        /// Every cell of the shape is readable, aligned and written by nobody for the lifetime.
        pub unsafe fn new(first: *const T, shape: Vec<usize>, strides: Vec<usize>) -> Self {
            Self { first, shape, strides, cells: PhantomData }
        }

        pub fn get(&self, index: &[usize]) -> Option<T> {
            let is_in = index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, len)| at < len);
            let offset = index.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum::<usize>();
            // SAFETY: the cell is one of the shape, which `new` was promised.
            is_in.then(|| unsafe { *self.first.wrapping_add(offset) })
        }
    }
}

/// The adapter. It is a crate of its own, and it owns neither the traits nor the framework's types.
pub mod adapter {
    use dlbridge_core::by_dtype;
    use dlbridge_core::layout::Dims;
    use dlbridge_core::{
        DataType, Descriptor, Device, Element, Error, Export, Flags, Import, Interchange, Memory, ReadOnly, Reason,
        Route, Tensor, TensorRef, View,
    };

    use super::grid::{Cell, Grid, GridView, Kind};

    /// The marker of this adapter, which is always inferred.
    #[derive(Debug)]
    pub enum Grids {}

    /// The framework's name in errors.
    const NAME: &str = "grid";

    // Element types.

    /// `by_dtype!` for the types that a grid can hold: the one list of them.
    macro_rules! by_cell {
        ($dtype:expr, $T:ident => $body:expr) => {
            match $dtype {
                dtype => by_dtype!(dtype, [u8, i64, f32], $T => Ok($body), _ => {
                    Err(Error::UnsupportedDType { framework: NAME, dtype })
                }),
            }
        };
    }

    impl Interchange<Grids> for Kind {
        type Standard = DataType;

        fn to_dlpack(&self) -> Result<DataType, Error> {
            match self {
                Kind::Byte => Ok(DataType::UINT8),
                Kind::Index => Ok(DataType::INT64),
                Kind::Real => Ok(DataType::FLOAT32),
                Kind::Glyph => Err(Error::Inexpressible { framework: NAME, what: "glyphs" }),
            }
        }

        fn from_dlpack(standard: DataType) -> Result<Self, Error> {
            by_cell!(standard, T => T::KIND)
        }
    }

    // Out.

    /// What keeps an export alive. Only this adapter makes one, always for the whole of its grid, so that an import
    /// can give the grid back.
    struct Exported(Grid);

    impl Export<Grids> for Grid {
        fn export(mut self) -> Result<Tensor, Error> {
            // This refuses glyphs, and checks that the lengths and strides are those of a tensor.
            self.describe(|_, _| ())?;
            let (dtype, ndim) = (self.kind().to_dlpack()?, self.shape().len());
            let memory = |flags| Memory { dtype, device: Device::CPU, flags, is_valid: true };
            if self.is_writable() {
                // SAFETY: the grid keeps its memory, and every number was checked. It is the only handle, so that
                // everything from its first cell to its last is its own.
                Ok(unsafe { Tensor::from_sole_owner(Exported(self), memory(Flags::empty()), ndim, lay_out) })
            } else {
                // SAFETY: the grid keeps its memory, which nobody writes while there is another handle or if it is
                // frozen. Who gets the owner back gets a handle, which cannot write it either.
                Ok(unsafe { Tensor::from_owner(Exported(self), memory(Flags::READ_ONLY), ndim, lay_out) })
            }
        }

        fn export_copy(&self) -> Result<Tensor, Error> {
            // SAFETY: the cells are readable, and nobody writes them while the grid is borrowed.
            self.describe(|tensor, _| unsafe { TensorRef::from_descriptor(*tensor) }.to_contiguous())?
        }

        fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
            // An estimate: only the export knows whether this is the only handle.
            let is_writable = self.handles() == 1 && !self.is_frozen();
            let flags = if is_writable { Flags::empty() } else { Flags::READ_ONLY };
            let (shape, strides) = (dims(self.shape())?, dims(self.strides())?);
            let dtype = self.kind().to_dlpack()?;
            let tensor = Descriptor::new(self.data(), dtype, Device::CPU, flags, &shape, Some(&strides))?;
            Ok(match is_writable {
                true => read(&tensor.solely_owned_by::<Exported>(), None),
                false => read(&tensor.owned_by::<Exported>(), None),
            })
        }
    }

    impl Export<Grids> for ReadOnly<Grid> {
        fn export(self) -> Result<Tensor, Error> {
            (*self).clone().export()
        }

        fn export_copy(&self) -> Result<Tensor, Error> {
            (**self).export_copy()
        }

        fn describe<R>(&self, read: impl FnOnce(&Descriptor<'_>, Option<Reason>) -> R) -> Result<R, Error> {
            (**self).describe(read)
        }
    }

    fn lay_out(Exported(grid): &mut Exported, shape: &mut [i64], strides: &mut [i64]) -> *mut u8 {
        shape.iter_mut().zip(grid.shape()).for_each(|(slot, length)| *slot = *length as i64);
        strides.iter_mut().zip(grid.strides()).for_each(|(slot, stride)| *slot = *stride as i64);
        grid.data()
    }

    fn dims(numbers: &[usize]) -> Result<Dims, Error> {
        let numbers: Option<Dims> = numbers.iter().map(|number| i64::try_from(*number).ok()).collect();
        numbers.ok_or(Error::Overflow { quantity: "strides" })
    }

    // In.

    /// The grid that the tensor was made from comes back. Other memory is shared if the grid may write it.
    impl Import<Grids> for Grid {
        fn plan(tensor: &Descriptor<'_>) -> Route {
            plan(tensor, false)
        }

        fn import(tensor: Tensor) -> Result<Self, Error> {
            share(tensor, false)
        }

        fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
            by_cell!(tensor.dtype(), T => Grid::new(tensor.to_vec::<T>()?, &lengths(tensor)))
        }
    }

    /// Over memory of any kind, which the framework refuses to write at run time.
    impl Import<Grids> for ReadOnly<Grid> {
        fn plan(tensor: &Descriptor<'_>) -> Route {
            plan(tensor, true)
        }

        fn import(tensor: Tensor) -> Result<Self, Error> {
            let grid = share(tensor, true)?;
            // SAFETY: a grid writes only where it may: this one is frozen, or the framework's own, which no other
            // framework shares.
            Ok(unsafe { Self::new(grid) })
        }

        fn import_copy(tensor: &TensorRef<'_>) -> Result<Self, Error> {
            let grid = Grid::import_copy(tensor)?;
            // SAFETY: nobody shares the copy.
            Ok(unsafe { Self::new(grid) })
        }
    }

    fn plan(tensor: &Descriptor<'_>, frozen: bool) -> Route {
        let align = tensor.check_host().and_then(|()| by_cell!(tensor.dtype(), T => align_of::<T>()));
        let align = match align {
            Ok(align) => align,
            Err(error) => return Route::Impossible(error),
        };
        if tensor.is_owned_by::<Exported>() {
            Route::Shared
        } else if tensor.check_align(align).is_err() {
            Route::Copied(Reason::Misaligned { align })
        } else if steps(tensor).is_none() {
            Route::Copied(Reason::NegativeStrides)
        } else if !frozen && tensor.flags().is_read_only() {
            Route::Copied(Reason::ReadOnly)
        } else if !frozen && !tensor.owns_extent() {
            // `span_mut` gives what lies between the cells.
            Route::Copied(Reason::Gaps)
        } else {
            Route::Shared
        }
    }

    fn share(tensor: Tensor, frozen: bool) -> Result<Grid, Error> {
        plan(&tensor.descriptor(), frozen).require_shared(NAME)?;
        let tensor = match tensor.downcast::<Exported>() {
            Ok(Exported(grid)) => return Ok(grid),
            Err(tensor) => tensor,
        };
        let (kind, data) = (Kind::from_dlpack(tensor.dtype())?, tensor.data().cast_mut());
        let (shape, strides) = (lengths(&tensor.descriptor()), steps(&tensor.descriptor()));
        let refused = Error::CopyRequired { framework: NAME, reason: Reason::NegativeStrides };
        let strides = strides.ok_or(refused)?;
        // SAFETY: the tensor keeps the memory, in host memory, of this kind, aligned, and with strides that run
        // upwards, so that the first cell is the lowest. Nobody writes it; and if the grid is not frozen, the tensor
        // is the only one to use all of its extent, and the grid keeps the tensor where nobody reaches it.
        Ok(unsafe { Grid::from_memory(data, kind, shape, strides, frozen, Box::new(tensor)) })
    }

    fn lengths(tensor: &Descriptor<'_>) -> Vec<usize> {
        tensor.shape().iter().map(|length| *length as usize).collect()
    }

    /// The strides, if none is negative. On an axis of length 1, and in a tensor without elements, they mean nothing.
    fn steps(tensor: &Descriptor<'_>) -> Option<Vec<usize>> {
        let steps = tensor.shape().iter().zip(tensor.strides().iter());
        steps.map(|(length, stride)| if *length > 1 { usize::try_from(stride).ok() } else { Some(0) }).collect()
    }

    // Borrowed.

    impl<'a, T: Cell + Element> View<'a, Grids> for GridView<'a, T> {
        fn view(tensor: TensorRef<'a>) -> Result<Self, Error> {
            let first = tensor.as_ptr::<T>()?;
            let negative = Error::Unsupported { framework: NAME, what: "negative strides" };
            let strides = steps(&tensor).ok_or(negative)?;
            // SAFETY: `as_ptr` has checked type, device and alignment; the elements are readable for the lifetime.
            Ok(unsafe { GridView::new(first, lengths(&tensor), strides) })
        }
    }
}

/// The sum of any tensor that can be exported: a function of one's own, which names the marker as a parameter.
fn total<Via>(tensor: impl Export<Via>) -> Result<f32, Error> {
    let tensor: Tensor = tensor.share()?;
    Ok(tensor.view().elements::<f32>()?.sum())
}

/// A vector of which a tensor shows every second number. The others stand for what somebody else reads.
struct EverySecond(Vec<f32>);

impl EverySecond {
    fn into_tensor(self) -> Tensor {
        let memory = Memory { dtype: DataType::FLOAT32, device: Device::CPU, flags: Flags::empty(), is_valid: true };
        let length = self.0.len().div_ceil(2) as i64;
        // SAFETY: the vector keeps its numbers in place, nobody else uses every second one, and nobody writes the
        // others. They are not promised to the holder of the tensor, as `from_sole_owner` would.
        unsafe {
            Tensor::from_owner(self, memory, 1, |owner, shape, strides| {
                (shape[0], strides[0]) = (length, 2);
                owner.0.as_mut_ptr().cast()
            })
        }
    }
}

pub fn main() -> Result<(), Error> {
    // Element types are exchanged without a tensor.
    assert_eq!(Kind::Real.exchange::<DataType>()?, DataType::FLOAT32);
    assert_eq!(DataType::INT64.exchange::<Kind>()?, Kind::Index);
    assert!(matches!(Kind::Glyph.exchange::<DataType>(), Err(Error::Inexpressible { .. })));
    assert!(matches!(DataType::BOOL.exchange::<Kind>(), Err(Error::UnsupportedDType { .. })));

    // A grid that is the only handle goes out in its own memory, for writing, and comes back as itself.
    let grid = Grid::new(vec![1f32, 2., 3., 4., 5., 6.], &[2, 3]).transposed();
    let address = grid.data().cast_const();
    assert_eq!(grid.route::<Grid>(), Route::Shared);
    let mut tensor: Tensor = grid.share()?;
    assert_eq!((tensor.data(), tensor.shape()), (address, &[3, 2][..]));
    assert_eq!(tensor.strides(), [1, 3]);
    tensor.view_mut()?.set(&[0, 1], 40f32)?;

    // A view borrows it.
    let view: GridView<'_, f32> = tensor.lend()?;
    assert_eq!((view.get(&[0, 1]), view.get(&[3, 0])), (Some(40.), None));
    assert!(matches!(tensor.lend::<GridView<'_, i64>>(), Err(Error::DTypeMismatch { .. })));

    let mut grid: Grid = tensor.share()?;
    assert_eq!(grid.data().cast_const(), address);
    assert_eq!(grid.span_mut::<f32>().expect("the only handle"), &[1., 2., 3., 40., 5., 6.]);

    // With another handle beside it, it goes out for reading only.
    let other = grid.clone();
    let tensor: Tensor = grid.share()?;
    assert!(tensor.flags().is_read_only() && tensor.data() == address);
    assert_eq!(total(tensor)?, 57.);
    assert_eq!(other.handles(), 1);

    // Memory of others that may be written is shared as well.
    let vec = vec![1f32, 2., 3.];
    let address = vec.as_ptr();
    assert_eq!(vec.route::<Grid>(), Route::Shared);
    let mut grid: Grid = vec.share()?;
    assert_eq!(grid.data().cast_const(), address.cast());
    grid.span_mut::<f32>().expect("the only handle")[0] = 10.;
    assert_eq!(total(grid)?, 15.);

    // Memory that must not be written takes one copy, or is shared by a type that does not write.
    let numbers: Arc<[f32]> = Arc::from([1., 2.]);
    assert_eq!(numbers.clone().route::<Grid>(), Route::Copied(Reason::ReadOnly));
    let copied = numbers.clone().convert_with::<Grid>(Default::default())?;
    assert_eq!(copied.copied, Some(Reason::ReadOnly));
    assert_ne!(copied.value.data().cast_const(), numbers.as_ptr().cast());
    let shared: ReadOnly<Grid> = numbers.clone().share()?;
    assert_eq!(shared.data().cast_const(), numbers.as_ptr().cast());
    let mut handle = shared.clone();
    drop(shared);
    assert_eq!((handle.handles(), handle.span_mut::<f32>()), (1, None));

    // So does memory between whose elements are somebody else's.
    let tensor = EverySecond(vec![1., 2., 3., 4., 5.]).into_tensor();
    assert_eq!(tensor.route::<Grid>(), Route::Copied(Reason::Gaps));
    assert_eq!(tensor.route::<ReadOnly<Grid>>(), Route::Shared);
    let grid: Grid = tensor.convert()?;
    assert_eq!((grid.strides(), total(grid.clone())?), (&[1][..], 9.));
    let refused = EverySecond(vec![0.; 3]).into_tensor().share::<Grid>().err();
    assert_eq!(refused, Some(Error::CopyRequired { framework: "grid", reason: Reason::Gaps }));

    // What has no way at all is an error of both verbs, and of the route.
    let route = vec![true, false].route::<Grid>();
    assert_eq!(route, Route::Impossible(Error::UnsupportedDType { framework: "grid", dtype: DataType::BOOL }));
    Ok(())
}
