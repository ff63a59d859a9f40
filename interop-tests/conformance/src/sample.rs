//! Samples: an element type and a layout over known bytes, and an independent model of the elements that must be read.

use std::collections::BTreeSet;

use dlbridge_core::DataType;

/// One step from a contiguous base to a layout, which each framework takes with its own operation.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Axes in a new order.
    Permute(&'static [usize]),
    /// A range of an axis: start and length.
    Narrow(usize, usize, usize),
    /// Every n-th index of an axis.
    Step(usize, usize),
    /// An axis backwards.
    Flip(usize),
    /// A new axis of length 1.
    Unsqueeze(usize),
    /// An axis of length 1 stretched to a length.
    Broadcast(usize, usize),
}

/// A layout: the shape of a contiguous base, and the steps from there.
#[derive(Debug)]
pub struct Layout {
    /// The layout's name, for the names of the trials.
    pub name: &'static str,
    /// The shape of the base.
    pub base: &'static [usize],
    /// The steps.
    pub ops: &'static [Op],
}

/// Every kind of layout that a tensor of some framework can have.
pub static LAYOUTS: &[Layout] = &[
    Layout { name: "contiguous", base: &[2, 3, 4], ops: &[] },
    Layout { name: "f_order", base: &[4, 3, 2], ops: &[Op::Permute(&[2, 1, 0])] },
    Layout { name: "transposed", base: &[3, 4], ops: &[Op::Permute(&[1, 0])] },
    Layout { name: "permuted", base: &[2, 3, 4], ops: &[Op::Permute(&[1, 2, 0])] },
    Layout { name: "sliced", base: &[4, 5], ops: &[Op::Narrow(0, 1, 2), Op::Narrow(1, 2, 3)] },
    Layout { name: "offset_rows", base: &[4, 5], ops: &[Op::Narrow(0, 2, 2)] },
    Layout { name: "stepped", base: &[9], ops: &[Op::Narrow(0, 1, 8), Op::Step(0, 2)] },
    Layout { name: "reversed", base: &[3, 4], ops: &[Op::Flip(1)] },
    Layout { name: "reversed_all", base: &[3, 4], ops: &[Op::Flip(0), Op::Flip(1)] },
    Layout { name: "broadcast", base: &[1, 3], ops: &[Op::Broadcast(0, 4)] },
    Layout {
        name: "length_one_axes",
        base: &[3, 4],
        ops: &[Op::Permute(&[1, 0]), Op::Narrow(0, 2, 1), Op::Unsqueeze(0)],
    },
    Layout { name: "scalar", base: &[], ops: &[] },
    Layout { name: "empty", base: &[0, 3], ops: &[] },
    Layout { name: "empty_middle", base: &[2, 0, 3], ops: &[Op::Permute(&[2, 1, 0])] },
    Layout { name: "eight_axes", base: &[2, 1, 2, 3, 1, 2, 1, 2], ops: &[Op::Permute(&[7, 1, 2, 3, 4, 5, 6, 0])] },
    Layout { name: "nine_axes", base: &[2, 1, 2, 1, 1, 2, 1, 2, 2], ops: &[] },
];

/// Shape, strides and offset in elements: the model with which all frameworks must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Lengths.
    pub shape: Vec<usize>,
    /// Strides.
    pub strides: Vec<i64>,
    /// Where the first element is.
    pub offset: i64,
}

impl Strided {
    /// Row-major, from the beginning of its memory.
    pub fn contiguous(shape: &[usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1) as i64;
        }
        Self { shape: shape.to_vec(), strides, offset: 0 }
    }

    fn then(mut self, op: Op) -> Self {
        match op {
            Op::Permute(axes) => {
                self.shape = axes.iter().map(|axis| self.shape[*axis]).collect();
                self.strides = axes.iter().map(|axis| self.strides[*axis]).collect();
            }
            Op::Narrow(axis, start, length) => {
                self.offset += start as i64 * self.strides[axis];
                self.shape[axis] = length;
            }
            Op::Step(axis, step) => {
                self.shape[axis] = self.shape[axis].div_ceil(step);
                self.strides[axis] *= step as i64;
            }
            Op::Flip(axis) => {
                self.offset += (self.shape[axis] as i64 - 1) * self.strides[axis];
                self.strides[axis] = -self.strides[axis];
            }
            Op::Unsqueeze(axis) => {
                self.shape.insert(axis, 1);
                self.strides.insert(axis, 1);
            }
            Op::Broadcast(axis, length) => {
                assert_eq!(self.shape[axis], 1);
                self.shape[axis] = length;
                self.strides[axis] = 0;
            }
        }
        self
    }

    /// Whether the elements are next to each other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let plain = Self::contiguous(&self.shape);
        self.shape.contains(&0)
            || (0..self.shape.len()).all(|axis| self.shape[axis] == 1 || self.strides[axis] == plain.strides[axis])
    }

    /// Whether some axis runs backwards.
    pub fn is_reversed(&self) -> bool {
        !self.shape.contains(&0) && (0..self.shape.len()).any(|axis| self.shape[axis] > 1 && self.strides[axis] < 0)
    }

    /// Whether some place between the lowest and the highest element is no element's.
    pub fn has_gaps(&self) -> bool {
        let places: BTreeSet<i64> = self.offsets().into_iter().collect();
        let span = places.first().zip(places.last()).map_or(0, |(first, last)| last - first + 1);
        places.len() as i64 != span
    }

    /// The offsets of all elements, in row-major order.
    fn offsets(&self) -> Vec<i64> {
        let mut offsets = vec![self.offset];
        for (length, stride) in self.shape.iter().zip(&self.strides) {
            offsets = offsets.iter().flat_map(|from| (0..*length as i64).map(move |i| from + i * stride)).collect();
        }
        offsets
    }
}

/// An element type and a layout.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The type.
    pub dtype: DataType,
    /// The layout.
    pub layout: &'static Layout,
}

impl Sample {
    /// The layout in numbers.
    pub fn strided(&self) -> Strided {
        self.layout.ops.iter().fold(Strided::contiguous(self.layout.base), |strided, op| strided.then(*op))
    }

    /// The bytes of the base, which differ from element to element. Booleans are 0 or 1.
    pub fn base_bytes(&self) -> Vec<u8> {
        let elements: usize = self.layout.base.iter().product();
        let bits = elements * self.dtype.bits_per_element() as usize;
        let byte = |index: usize| match self.dtype {
            DataType::BOOL => (index % 3 == 0) as u8,
            _ => (index * 37 + 11) as u8,
        };
        (0..bits.div_ceil(8)).map(byte).collect()
    }

    /// The bytes that the elements must have in row-major order, gathered bit by bit.
    pub fn expected_bytes(&self) -> Vec<u8> {
        let (base, bits) = (self.base_bytes(), self.dtype.bits_per_element() as usize);
        let offsets = self.strided().offsets();
        let mut expected = vec![0u8; (offsets.len() * bits).div_ceil(8)];
        for (index, offset) in offsets.into_iter().enumerate() {
            for bit in 0..bits {
                let (from, to) = (offset as usize * bits + bit, index * bits + bit);
                expected[to / 8] |= (base[from / 8] >> (from % 8) & 1) << (to % 8);
            }
        }
        expected
    }
}
