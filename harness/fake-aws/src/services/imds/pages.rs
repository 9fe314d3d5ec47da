//! The metadata service's answers as bytes: headers, content types and error pages.

use bytes::Bytes;

use crate::exchange::{Answer, ServiceError};

/// A value or a listing.
#[must_use]
pub fn text(body: String, modified: &str) -> Answer {
    plain(body)
        .with_header("accept-ranges", "none")
        .with_header("last-modified", modified)
}

/// Plain text without the headers of metadata: the token.
#[must_use]
pub fn plain(body: String) -> Answer {
    served(Answer::new(200, "text/plain", body))
}

/// User data, byte for byte.
#[must_use]
pub fn user_data(bytes: Bytes, modified: &str) -> Answer {
    served(Answer::new(200, "application/octet-stream", bytes))
        .with_header("accept-ranges", "bytes")
        .with_header("last-modified", modified)
}

/// An error page.
#[must_use]
pub fn error(status: u16) -> Answer {
    let title = title(status);
    let mut answer = served(Answer::new(status, "text/html", page(status, title)));
    answer.error = Some(ServiceError::new(status, status.to_string(), title));
    answer
}

/// What the service answers to a method that it does not take there.
#[must_use]
pub fn not_allowed(allow: &str) -> Answer {
    let mut answer = served(Answer::new(405, "text/plain", Bytes::new())).with_header("allow", allow);
    answer.error = Some(ServiceError::new(405, "405", title(405)));
    answer
}

/// A redirection to another path of the address that was asked.
#[must_use]
pub fn moved(host: &str, location: &str) -> Answer {
    // A test or a tunnel may ask by another name; the service itself only knows its own.
    let host = if host.starts_with('[') {
        "[fd00:ec2::254]"
    } else {
        "169.254.169.254"
    };
    served(Answer::new(301, "text/html", page(301, title(301))))
        .with_header("location", format!("http://{host}{location}"))
}

fn served(answer: Answer) -> Answer {
    // Old clients tell EC2's metadata service by this name.
    answer
        .with_header("server", "EC2ws")
        .with_header("connection", "close")
}

fn title(status: u16) -> &'static str {
    match status {
        301 => "Moved Permanently",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Not Allowed",
        413 => "Request Entity Too Large",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        500.. => "Internal Server Error",
        _ => "Error",
    }
}

/// The page that scripts find in their variables when they do not look at the status: 339 bytes for a 404.
fn page(status: u16, title: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n\
         <!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n\
         \t\t \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n\
         <html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n \
         <head>\n  <title>{status} - {title}</title>\n </head>\n <body>\n  <h1>{status} - {title}</h1>\n </body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 404: recorded traffic of smithy-rs' aws-config (`imds_no_iam_role`). The others follow by substitution.
    #[test]
    fn error_pages_have_the_length_of_real_ones() {
        for (status, length) in [(404, 339), (401, 345), (400, 343), (403, 339), (503, 359)] {
            assert_eq!(error(status).body.length(), length, "{status}");
        }
    }
}
