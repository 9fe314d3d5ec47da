//! What can be requested of a running control plane?

mod access_review;
mod admission;
mod eks_layer;
mod pod;
mod restore;
mod running;
mod start;

pub use running::ControlPlane;
