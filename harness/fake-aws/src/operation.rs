//! Operations of the AWS APIs, and the identification of a request before it is answered.

use nodejoin_core::observation::CalledService;
use nodejoin_core::plan::fault::Service;

use crate::http::Request;

/// The operations of one service, declared by [`operations`].
pub(crate) trait ApiOperation: Copy + 'static {
    const ALL: &'static [Self];

    /// The name in AWS' words.
    fn name(self) -> &'static str;

    /// Finds an operation by its exact name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|operation| operation.name() == name)
    }
}

/// Declares a service's enum `Operation`. Each service matches on it exhaustively, so that an operation without a
/// response does not compile.
macro_rules! operations {
    ($(#[$attribute:meta])* enum Operation { $($Variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Operation { $($Variant),+ }

        impl Operation {
            /// In the order of the variants.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),+];
        }

        impl $crate::operation::ApiOperation for Operation {
            const ALL: &'static [Self] = &[$(Self::$Variant),+];

            fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name),+ }
            }
        }
    };
}

pub(crate) use operations;

/// The target of a request: faults match on it, and the transcript shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    pub(crate) service: CalledService,
    /// Operation, in AWS' words; for metadata the path without its version.
    pub(crate) operation: String,
    /// The resource in the request, such as a cluster's name.
    pub(crate) subject: Option<String>,
    /// Whether the fake implements the operation.
    pub(crate) known: bool,
}

impl RequestTarget {
    pub(crate) fn known(service: Service, operation: impl Into<String>, subject: Option<String>) -> Self {
        Self {
            service: service.into(),
            operation: operation.into(),
            subject,
            known: true,
        }
    }

    /// The target of a request in a query protocol, by its action.
    pub(crate) fn of_action<O: ApiOperation>(
        service: Service,
        request: &Request,
        subject: impl FnOnce(O) -> Option<String>,
    ) -> Self {
        let action = request.action();
        match O::named(&action) {
            Some(operation) => Self::known(service, operation.name(), subject(operation)),
            None => Self::unknown(service, action),
        }
    }

    pub(crate) fn unknown(service: impl Into<CalledService>, operation: impl Into<String>) -> Self {
        Self {
            service: service.into(),
            operation: operation.into(),
            subject: None,
            known: false,
        }
    }
}
