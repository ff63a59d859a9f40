//! A Python module in Rust: candle and burn compute on numpy's memory, numpy and torch read their results, and nothing
//! is copied on the way.
//!
//! `demo.py` uses it; `run.sh` builds and runs both.

use std::alloc::System;

use dlbridge::adopting::Adopting;

/// Lets candle's vectors own numpy's memory. Without this allocator, candle would copy each input once.
#[global_allocator]
static ALLOCATOR: Adopting<System> = Adopting::new(System);

/// Two small models: one of candle, one of burn.
#[pyo3::pymodule]
mod two_models {
    use burn_tensor::Tensor as Burn;
    use burn_tensor::activation::softmax;
    use dlbridge::candle::candle_core::{DType, Device, Tensor as Candle};
    use dlbridge::python::{PyDType, PyDevice, PyTensor, into_py_err};
    use dlbridge::{Bridge, CopyPolicy, Error, Exchange, ReadOnly, Tensor};
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    /// A layer of candle, `relu(x @ weight)`.
    #[pyclass(frozen)]
    struct CandleLayer {
        weight: Candle,
    }

    #[pymethods]
    impl CandleLayer {
        /// With random weights.
        #[new]
        fn new(inputs: usize, outputs: usize) -> PyResult<Self> {
            let weight = Candle::rand(-1f32, 1., (inputs, outputs), &Device::Cpu).map_err(failed)?;
            Ok(Self { weight })
        }

        /// The output, and whether the input had to be copied. Any array library takes the output as it is.
        fn forward(&self, x: PyTensor) -> PyResult<(PyTensor, bool)> {
            // SAFETY: this call keeps the interpreter, and is done with the memory when it returns. candle does not
            // write it either, as the type says.
            let x = unsafe { x.assume_unwritten() }.convert_with::<ReadOnly<Candle>>(CopyPolicy::IfNeeded);
            let x = x.map_err(into_py_err)?;
            let y = x.value.matmul(&self.weight).and_then(|y| y.relu()).map_err(failed)?;
            drop(x.value);
            let y: Tensor = y.share().map_err(into_py_err)?;
            Ok((y.into(), x.copied.is_some()))
        }

        /// The model's own weights: shared with candle, and read-only therefore.
        fn weight(&self) -> PyResult<PyTensor> {
            let weight: Tensor = self.weight.clone().share().map_err(into_py_err)?;
            Ok(weight.into())
        }
    }

    /// burn's softmax of the last axis, on the very memory of the array that comes in.
    #[pyfunction]
    fn burn_softmax(x: PyTensor) -> PyResult<PyTensor> {
        // SAFETY: as above.
        let x: Burn<2> = unsafe { x.assume_unwritten() }.share().map_err(into_py_err)?;
        let y: Tensor = softmax(x, 1).share().map_err(into_py_err)?;
        Ok(y.into())
    }

    /// Zeros of candle, of any library's dtype on any library's device.
    #[pyfunction]
    fn candle_zeros(rows: usize, columns: usize, dtype: PyDType, device: PyDevice) -> PyResult<PyTensor> {
        let zeros = || -> Result<Tensor, Error> {
            let (dtype, device): (DType, Device) = (dtype.0.exchange()?, device.0.exchange()?);
            let message = |error: dlbridge::candle::candle_core::Error| Error::Framework {
                framework: "candle",
                message: error.to_string().into(),
            };
            Candle::zeros((rows, columns), dtype, &device).map_err(message)?.share()
        };
        zeros().map(PyTensor::from).map_err(into_py_err)
    }

    fn failed(error: dlbridge::candle::candle_core::Error) -> PyErr {
        PyRuntimeError::new_err(error.to_string())
    }
}
