//! Nobody waits for ever where it was not asked for: what candle's lock could lead to (F).

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use dlbridge::ReadOnly;
use dlbridge::candle::candle_core::Var;

/// The result of `ask`, which must not take for ever.
fn soon<R: Send + 'static>(ask: impl FnOnce() -> R + Send + 'static) -> R {
    let (answer, answered) = mpsc::channel();
    std::thread::spawn(move || answer.send(ask()));
    answered.recv_timeout(Duration::from_secs(60)).expect("an answer")
}

#[test]
fn while_a_writer_waits_for_an_export_everything_else_answers() {
    let candle = Candle::from_vec(numbers(6), (2, 3), &CandleDevice::Cpu).unwrap();
    let export: Tensor = (&candle).share().unwrap();
    let (writer, wrote) = (candle.clone(), mpsc::channel());
    let written = wrote.1;
    std::thread::spawn(move || {
        writer.zero_set().unwrap();
        wrote.0.send(()).unwrap();
    });
    assert!(written.recv_timeout(Duration::from_millis(200)).is_err(), "the write did not wait");

    let asked = candle.clone();
    assert_eq!(soon(move || asked.route::<Vec<f32>>()), Route::Copied(Reason::ForeignMemory));
    let asked = candle.clone();
    assert_eq!(soon(move || asked.convert::<Vec<f32>>()).unwrap(), numbers(6));
    // A second export, of another view, shares the lock of the first, and keeps it when the first goes.
    let asked = candle.t().unwrap();
    let second = soon(move || asked.share::<Tensor>()).unwrap();
    assert_eq!(second.to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
    drop(export);
    assert!(written.recv_timeout(Duration::from_millis(200)).is_err(), "the write did not wait for the second export");
    assert_eq!(second.to_vec::<f32>().unwrap(), [0., 3., 1., 4., 2., 5.]);
    std::thread::spawn(move || drop(second)).join().unwrap();
    written.recv_timeout(Duration::from_secs(60)).expect("the writer goes on");
    assert_eq!(candle.to_vec2::<f32>().unwrap(), [[0.; 3]; 2]);
    // The lock is free, and can be taken again.
    soon(move || {
        drop((&candle).share::<Tensor>().unwrap());
        candle.zero_set()
    })
    .unwrap();
}

#[test]
fn many_threads_share_and_write_one_storage() {
    let candle = Candle::from_vec(numbers(64), 64, &CandleDevice::Cpu).unwrap();
    let are_done = Arc::new(AtomicBool::new(false));
    let writer = soon_started({
        let (candle, are_done) = (candle.clone(), are_done.clone());
        let others = Candle::ones(64, DType::F32, &CandleDevice::Cpu).unwrap();
        move || {
            while !are_done.load(Ordering::Relaxed) {
                candle.zero_set().unwrap();
                candle.slice_set(&others, 0, 0).unwrap();
            }
        }
    });
    let readers: [_; 3] = std::array::from_fn(|_| {
        let candle = candle.clone();
        soon_started(move || {
            for round in 0..300 {
                let view = candle.narrow(0, round % 32, 32).unwrap();
                let (one, two): (Tensor, Tensor) = ((&view).share().unwrap(), (&candle).share().unwrap());
                let before = one.to_vec::<f32>().unwrap();
                std::thread::sleep(Duration::from_micros(100));
                assert_eq!(one.to_vec::<f32>().unwrap(), before, "written while it is shared");
                drop(two);
            }
        })
    });
    let ends =
        |done: mpsc::Receiver<()>| done.recv_timeout(Duration::from_secs(120)).expect("no thread waits for ever");
    readers.into_iter().for_each(ends);
    are_done.store(true, Ordering::Relaxed);
    ends(writer);
}

fn soon_started(run: impl FnOnce() + Send + 'static) -> mpsc::Receiver<()> {
    let (done, finished) = mpsc::channel();
    std::thread::spawn(move || {
        run();
        done.send(()).unwrap();
    });
    finished
}

#[test]
fn a_variable_is_copied_and_not_shared() {
    let variable = Var::from_vec(numbers(4), 4, &CandleDevice::Cpu).unwrap();
    let refused = variable.as_tensor().share::<Tensor>().unwrap_err();
    assert_eq!(refused, Error::CopyRequired { framework: "candle", reason: Reason::Variable });
    assert_eq!(variable.as_tensor().clone().route::<Tensor>(), Route::Copied(Reason::Variable));
    let copy = variable.as_tensor().convert_with::<Tensor>(CopyPolicy::IfNeeded).unwrap();
    assert_eq!(copy.copied, Some(Reason::Variable));
    // A step of an optimiser does not wait for the copy.
    let step = variable.clone();
    soon(move || step.set(&Candle::zeros(4, DType::F32, &CandleDevice::Cpu).unwrap())).unwrap();
    assert_eq!(copy.value.as_slice::<f32>().unwrap(), numbers(4));
    // What is detached on purpose is shared; so is what is computed from a variable.
    let shared: Tensor = variable.as_detached_tensor().share().unwrap();
    assert_eq!(shared.as_slice::<f32>().unwrap(), [0.; 4]);
    let computed: Tensor = (variable.as_tensor() + 1.).unwrap().share().unwrap();
    assert_eq!(computed.as_slice::<f32>().unwrap(), [1.; 4]);
}

#[test]
fn read_only_memory_is_a_type_and_a_plain_tensor_of_it_is_a_copy() {
    let shared: Arc<[f32]> = numbers(6).into();
    let tensor = || Tensor::new(Arc::clone(&shared), &[2, 3]).unwrap();
    let plain: Candle = tensor().convert().unwrap();
    soon(move || plain.zero_set()).unwrap();
    assert_eq!(*shared, *numbers(6));
    // Without the adopting allocator the memory is copied; it goes wherever candle takes a `&Tensor` all the same.
    let read_only: ReadOnly<Candle> = tensor().convert().unwrap();
    let product = read_only.matmul(&read_only.t().unwrap()).unwrap();
    assert_eq!(product.to_vec2::<f32>().unwrap(), [[5., 14.], [14., 50.]]);
    let back: Tensor = (&read_only).share().unwrap();
    assert!(back.flags().is_read_only());
}
