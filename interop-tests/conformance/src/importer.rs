//! Any type that an adapter of dlbridge imports, as a consumer.

use std::borrow::Cow;
use std::marker::PhantomData;

use dlbridge_core::{Bridge, Error, Export, Import};

use crate::cases::Case;
use crate::judge::{Consumer, Read};
use crate::raw::Managed;

/// A consumer that converts each tensor to a `Dst`, and reads it by exporting a copy of that.
///
/// `In` and `Out` are the markers of the adapter, which are inferred: `importer::<Grid, _, _>("grid", limit)`. `limit`
/// is that of [`Consumer::limit`]: it should say on its own what the adapter refuses, and not ask the adapter.
pub fn importer<Dst, In, Out>(
    name: &'static str,
    limit: impl Fn(&Case) -> Option<Cow<'static, str>> + Send + Sync + 'static,
) -> impl Consumer
where
    Dst: Import<In> + Export<Out> + 'static,
    In: 'static,
    Out: 'static,
{
    Importer { name, limit, markers: PhantomData::<fn() -> (Dst, In, Out)> }
}

struct Importer<L, M> {
    name: &'static str,
    limit: L,
    markers: PhantomData<M>,
}

impl<L, Dst, In, Out> Consumer for Importer<L, fn() -> (Dst, In, Out)>
where
    L: Fn(&Case) -> Option<Cow<'static, str>> + Send + Sync,
    Dst: Import<In> + Export<Out> + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn consume(&self, managed: Managed) -> Result<Read, String> {
        consume::<Dst, In, Out>(managed).map_err(|error| error.to_string())
    }

    fn limit(&self, case: &Case) -> Option<Cow<'static, str>> {
        (self.limit)(case)
    }
}

fn consume<Dst, In, Out>(managed: Managed) -> Result<Read, Error>
where
    Dst: Import<In> + Export<Out> + 'static,
{
    // SAFETY: the kit's tensors are what they claim, as far as they are acceptable.
    let tensor = unsafe { managed.import() }?;
    let value: Dst = tensor.convert()?;
    let copy = value.export_copy()?;
    Ok(Read { shape: copy.shape().to_vec(), bytes: copy.view().to_bytes()?, keep: Box::new(value) })
}
