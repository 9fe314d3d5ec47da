//! Reports: what is made of the one event stream.

pub mod console;
pub mod junit;
pub mod text;
