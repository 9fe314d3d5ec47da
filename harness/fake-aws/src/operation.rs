//! The identification of a request before it is answered.

use nodejoin_core::observation::CalledService;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::ApiOperation;

use crate::http::Request;

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
            None => Self::unnamed(service, request, action),
        }
    }

    /// The target of a request in a JSON protocol, by its header.
    pub(crate) fn of_target<O: ApiOperation>(
        service: Service,
        request: &Request,
        subject: impl FnOnce(O) -> Option<String>,
    ) -> Self {
        let name = request.target_name();
        match O::named(name) {
            Some(operation) => Self::known(service, operation.name(), subject(operation)),
            None => Self::unnamed(service, request, name),
        }
    }

    /// The target of a request whose name the fake does not have, or that has none: then it is method and path.
    fn unnamed(service: Service, request: &Request, name: impl Into<String>) -> Self {
        let name = name.into();
        match name.is_empty() {
            true => Self::unknown(service, format!("{} {}", request.method, request.path)),
            false => Self::unknown(service, name),
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
