//! Handing the cases to a consumer, and judging what it makes of them.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::cases::{Case, Verdict, cases};
use crate::raw::{ABIS, Abi, Managed};

/// A library that takes tensors over DLPack.
pub trait Consumer: Send + Sync {
    /// The name of the library, for the names of the trials.
    fn name(&self) -> &str;

    /// Takes ownership of the managed tensor, and reads it or refuses it, with a message.
    ///
    /// What a well-formed tensor claims is true, and nobody else uses its memory. Malformed tensors may claim anything.
    ///
    /// # Errors
    /// The tensor is refused. The consumer must release it nonetheless.
    fn consume(&self, managed: Managed) -> Result<Read, String>;

    /// If this consumer refuses a case that the standard allows, the reason: it has no such type, or no such layout. A
    /// consumer that then accepts the case fails the trial.
    fn limit(&self, case: &Case) -> Option<Cow<'static, str>> {
        _ = case;
        None
    }
}

/// What a consumer has read.
pub struct Read {
    /// The lengths of the axes, in elements.
    pub shape: Vec<i64>,
    /// The elements in row-major order, without gaps.
    pub bytes: Vec<u8>,
    /// What keeps the tensor alive, for the kit to drop; `()` if the consumer has already released the tensor.
    pub keep: Box<dyn Any>,
}

/// One case in one ABI, for one consumer.
pub struct Trial {
    consumer: Arc<dyn Consumer>,
    case: Case,
    abi: Abi,
}

impl Trial {
    /// Hands the case over, and checks the outcome.
    ///
    /// # Errors
    /// The message says what is wrong.
    pub fn run(&self) -> Result<(), String> {
        judge(&*self.consumer, &self.case, self.abi)
    }
}

/// The name of the trial, to filter by: `"consumer/legacy/strides/null"`.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.consumer.name(), self.abi, self.case.name())
    }
}

/// Every case in both ABIs, as tests with names, for a test program that runs and reports them one by one.
pub fn trials(consumer: impl Consumer + 'static) -> Vec<Trial> {
    let consumer: Arc<dyn Consumer> = Arc::new(consumer);
    let sayable = |abi| cases().into_iter().filter(move |case| case.is_legacy() || abi == Abi::Versioned);
    let trial = |abi, case| Trial { consumer: Arc::clone(&consumer), case, abi };
    ABIS.into_iter().flat_map(|abi| sayable(abi).map(move |case| trial(abi, case))).collect()
}

/// Runs all [`trials`], for use in a `#[test]`.
///
/// # Panics
/// Some trials fail. The message has a line for each.
pub fn assert_conforms(consumer: impl Consumer + 'static) {
    let trials = trials(consumer);
    let run = |trial: &Trial| match panic::catch_unwind(AssertUnwindSafe(|| trial.run())) {
        Ok(outcome) => outcome.err(),
        Err(_) => Some("panicked".into()),
    };
    let failures = trials.iter().filter_map(|trial| run(trial).map(|message| format!("\n{trial}: {message}")));
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{} of {} trials fail:{}", failures.len(), trials.len(), failures.concat());
}

/// Hands one case to a consumer, and checks the outcome.
///
/// # Errors
/// The message says what is wrong.
pub fn judge(consumer: &dyn Consumer, case: &Case, abi: Abi) -> Result<(), String> {
    let producer = case.make();
    let (calls, has_deleter) = (producer.calls(), producer.has_deleter);
    let managed = producer.into_managed(abi);
    let outcome = match (consumer.consume(managed), case.verdict()) {
        (Ok(read), Verdict::Accept(shape, bytes)) => match consumer.limit(case) {
            _ if read.shape != *shape => Err(format!("shape: found {:?}, expected {shape:?}", read.shape)),
            _ if read.bytes != *bytes => Err(format!("elements: found {:?}, expected {bytes:?}", read.bytes)),
            Some(limit) => Err(format!("accepted, although it has a limit: {limit}")),
            None if calls.count() > 1 => Err(format!("the deleter ran {} times while it was held", calls.count())),
            None => Ok(()),
        },
        (Ok(_), Verdict::Refuse) => Err("accepted, although it is malformed".into()),
        (Err(_), Verdict::Refuse) => Ok(()),
        (Err(message), Verdict::Accept(..)) => match consumer.limit(case) {
            Some(_) => Ok(()),
            None => Err(format!("refused, although it is well-formed: {message}")),
        },
    };
    if !has_deleter {
        // SAFETY: made above, without a deleter, and everything that was made of it has been dropped.
        unsafe { managed.free() };
    }
    outcome?;
    match calls.count() {
        1 => Ok(()),
        count => Err(format!("the deleter ran {count} times")),
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use dlbridge_core::sys::DLManagedTensorVersioned;

    use super::*;

    /// A consumer with a fault: it changes the tensor before reading it, or what it has read.
    struct Faulty {
        before: fn(&mut DLManagedTensorVersioned),
        after: fn(Result<Read, String>) -> Result<Read, String>,
    }

    impl Consumer for Faulty {
        fn name(&self) -> &str {
            "faulty"
        }

        fn consume(&self, managed: Managed) -> Result<Read, String> {
            let Managed::Versioned(mut managed) = managed else { unreachable!("one ABI is enough") };
            // SAFETY: made by the kit, and ours.
            (self.before)(unsafe { managed.as_mut() });
            // SAFETY: as above; the faults below keep it within its memory.
            let tensor = unsafe { Managed::Versioned(managed).import() }.map_err(|error| error.to_string());
            (self.after)(tensor.and_then(|tensor| {
                let bytes = tensor.view().to_bytes().map_err(|error| error.to_string())?;
                Ok(Read { shape: tensor.shape().to_vec(), bytes, keep: Box::new(tensor) })
            }))
        }
    }

    /// Of the cases that match, how many a consumer with this fault fails, and how many there are.
    fn failures(faulty: Faulty, matching: fn(&Case) -> bool) -> (usize, usize) {
        let cases: Vec<Case> = cases().into_iter().filter(matching).collect();
        let failed = cases.iter().filter(|case| judge(&faulty, case, Abi::Versioned).is_err()).count();
        (failed, cases.len())
    }

    #[test]
    fn the_kit_finds_faults() {
        let (nothing, same) = (|_: &mut DLManagedTensorVersioned| (), |read| read);
        let is_well_formed = |case: &Case| matches!(case.verdict(), Verdict::Accept(..));
        assert_eq!(failures(Faulty { before: nothing, after: same }, |_| true).0, 0);

        let (failed, all) = failures(Faulty { before: nothing, after: |_| Err("no".into()) }, is_well_formed);
        assert_eq!(failed, all);
        let accept = |_| Ok(Read { shape: vec![], bytes: vec![], keep: Box::new(()) });
        let (failed, all) =
            failures(Faulty { before: nothing, after: accept }, |case| *case.verdict() == Verdict::Refuse);
        assert_eq!(failed, all);

        let ignore_offset = |it: &mut DLManagedTensorVersioned| it.dl_tensor.byte_offset = 0;
        let (failed, all) =
            failures(Faulty { before: ignore_offset, after: same }, |case| case.name().starts_with("offset/"));
        assert_eq!(failed, all);
        let ignore_strides = |it: &mut DLManagedTensorVersioned| it.dl_tensor.strides = ptr::null_mut();
        let is_strided = |case: &Case| ["layout/transposed", "layout/f_order"].contains(&case.name());
        assert_eq!(failures(Faulty { before: ignore_strides, after: same }, is_strided), (2, 2));
    }

    #[test]
    #[should_panic(expected = "faulty/versioned/major/0: panicked")]
    fn a_panic_is_a_failure_with_a_name() {
        let panic = |_: Result<Read, String>| panic!("a fault of the consumer's");
        assert_conforms(Faulty { before: |_| (), after: panic });
    }
}
