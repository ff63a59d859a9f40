//! Streams of record batches as streams of tensors, whatever reads them: IPC, Parquet, a database.

use std::fmt;
use std::marker::PhantomData;

use arrow_array::RecordBatch;
use dlbridge_core::{Bridge, Converted, CopyPolicy, Error, Excerpt, Export, Import};

use crate::{Arrow, Column, Matrix, Options, failed};

/// What to take from each record batch, and how.
#[derive(Clone, Debug)]
pub struct Select {
    what: What,
    options: Options,
    policy: CopyPolicy,
}

#[derive(Clone, Debug)]
enum What {
    Column(String),
    Columns(Vec<String>),
    All,
}

impl Select {
    /// One column, as a tensor `[rows, …]`.
    pub fn column(name: impl Into<String>) -> Self {
        Self::new(What::Column(name.into()))
    }

    /// Some columns of one type, as a tensor `[rows, columns, …]`.
    pub fn columns<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::new(What::Columns(names.into_iter().map(Into::into).collect()))
    }

    /// All columns, which are of one type, as a tensor `[rows, columns, …]`.
    pub fn all() -> Self {
        Self::new(What::All)
    }

    fn new(what: What) -> Self {
        Self { what, options: Options::default(), policy: CopyPolicy::IfNeeded }
    }

    /// The same selection, read with these options.
    #[must_use]
    pub fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The same selection, copied as `policy` says. The default is [`CopyPolicy::IfNeeded`].
    #[must_use]
    pub fn copying(self, policy: CopyPolicy) -> Self {
        Self { policy, ..self }
    }

    /// The tensor of one batch, as a `T`. If the selection is one column, the batch is dropped before the conversion,
    /// so that memory which nobody else holds can be taken over.
    ///
    /// # Errors
    /// Those of [`Bridge::convert_with`], and [`Error::UnknownName`] for a column that the batch does not have.
    pub fn take<T, In>(&self, batch: RecordBatch) -> Result<Converted<T>, Error>
    where
        T: Import<In>,
    {
        match &self.what {
            What::Column(name) => {
                let column = Column::of(&batch, name)?;
                drop(batch);
                convert::<_, T, In>(column.with(self.options), self.policy)
            }
            What::Columns(names) => {
                let schema = batch.schema_ref();
                let index = |name: &String| {
                    let found = schema.fields().find(name).map(|(index, _)| index);
                    found.ok_or_else(|| Error::UnknownName { what: "column", name: Excerpt::new(name) })
                };
                let indices: Vec<usize> = names.iter().map(index).collect::<Result<_, _>>()?;
                let part = batch.project(&indices).map_err(failed)?;
                convert::<_, T, In>(Matrix::new(part).with(self.options), self.policy)
            }
            What::All => convert::<_, T, In>(Matrix::new(batch).with(self.options), self.policy),
        }
    }
}

fn convert<S: Export<Arrow>, T: Import<In>, In>(source: S, policy: CopyPolicy) -> Result<Converted<T>, Error> {
    Bridge::<Arrow, In>::convert_with::<T>(source, policy)
}

/// Implemented for every reader of record batches: `reader.tensors::<Tensor>(Select::column("embedding"))`.
pub trait Batches<In>: Sized {
    /// The tensor of each batch, one by one, as a `T`. A batch is read only when its tensor is asked for.
    ///
    /// `Copies: as the selection says`; each item tells whether it was copied, and why.
    fn tensors<T: Import<In>>(self, select: Select) -> Tensors<Self, T, In>;
}

impl<I, E, In> Batches<In> for I
where
    I: Iterator<Item = Result<RecordBatch, E>>,
    E: fmt::Display,
{
    fn tensors<T: Import<In>>(self, select: Select) -> Tensors<Self, T, In> {
        Tensors { batches: self, select, target: PhantomData }
    }
}

/// The tensors of a stream of record batches.
#[derive(Debug)]
pub struct Tensors<I, T, In> {
    batches: I,
    select: Select,
    target: PhantomData<fn() -> (T, In)>,
}

impl<I, T, In, E> Iterator for Tensors<I, T, In>
where
    I: Iterator<Item = Result<RecordBatch, E>>,
    E: fmt::Display,
    T: Import<In>,
{
    type Item = Result<Converted<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batches.next()?.map_err(failed).and_then(|batch| self.select.take(batch)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}
