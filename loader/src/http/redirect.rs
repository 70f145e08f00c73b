//! Where a response sends the request on to, and as what (RFC 9110, section 15.4; what browsers
//! do where it leaves a choice).

use hyper::Method;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName};

/// Hops that a request follows (ABI 1, "HTTP: `subako_http`").
pub(super) const MAX_HOPS: usize = 10;

/// What the module's own headers tell only the origin they were meant for.
const FOR_ONE_ORIGIN: [HeaderName; 3] = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// What speaks of a body, and goes when the body goes.
const OF_BODY: [HeaderName; 6] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    HeaderName::from_static("digest"),
];

/// Whether a status asks for another request, once there is a `location`.
pub(super) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The method of the next hop, where it is another one and has no body: 303 asks for a look at
/// something else, and 301 and 302 after a POST have always been taken to mean the same.
pub(super) fn method_without_body(status: StatusCode, method: &Method) -> Option<Method> {
    match status.as_u16() {
        303 if *method != Method::GET && *method != Method::HEAD => Some(Method::GET),
        301 | 302 if *method == Method::POST => Some(Method::GET),
        _ => None,
    }
}

/// The body is gone: so are the headers that speak of it.
pub(super) fn drop_body_headers(headers: &mut HeaderMap) {
    for name in OF_BODY {
        headers.remove(name);
    }
}

/// The next hop is to another origin.
pub(super) fn drop_private_headers(headers: &mut HeaderMap) {
    for name in FOR_ONE_ORIGIN {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods() {
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
        for (status, becomes_get) in [
            (301, &["POST"][..]),
            (302, &["POST"]),
            (303, &["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
            (307, &[]),
            (308, &[]),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert!(is_redirect(status));
            for method in methods {
                let next = method_without_body(status, &method.parse().unwrap());
                let wanted = becomes_get.contains(&method).then_some(Method::GET);
                assert_eq!(next, wanted, "{status} {method}");
            }
        }
        for status in [200, 300, 304, 305, 306, 399, 401] {
            assert!(!is_redirect(StatusCode::from_u16(status).unwrap()));
        }
    }
}
