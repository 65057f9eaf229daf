//! The laboratory: scenario files, sweeps over them, and what becomes of their runs.
