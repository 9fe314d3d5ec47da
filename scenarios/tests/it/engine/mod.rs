//! Tests that start containers. They must not run where no container engine answers.

mod external;
mod providers;
