//! The streams of GPUs, by the numbers that the array API gives them.

use dlbridge_core::{Device, DeviceType};
use pyo3::PyResult;
use pyo3::exceptions::{PyBufferError, PyValueError};

/// The streams that a consumer may name. Data of a GPU is ready on its legacy default stream; other streams would need
/// the GPU's own library to wait for that.
pub(crate) fn check(device: Device, stream: i64) -> PyResult<()> {
    let (default, forbidden): (&[i64], &[i64]) = match device.kind() {
        DeviceType::CUDA | DeviceType::CUDA_MANAGED => (&[-1, 1], &[0]),
        DeviceType::ROCM => (&[-1, 0], &[1, 2]),
        DeviceType::CPU | DeviceType::CUDA_HOST | DeviceType::ROCM_HOST | DeviceType::TPU_HOST => {
            return Err(PyValueError::new_err(format!(
                "stream is {stream}, expected None: memory on {device} has none"
            )));
        }
        _ => (&[-1], &[]),
    };
    if default.contains(&stream) {
        Ok(())
    } else if stream < -1 || forbidden.contains(&stream) {
        Err(PyValueError::new_err(format!("stream {stream} is no stream of {device}")))
    } else {
        Err(PyBufferError::new_err(format!(
            "the data is ready on the default stream of {device} only: synchronise, and pass stream=-1"
        )))
    }
}
