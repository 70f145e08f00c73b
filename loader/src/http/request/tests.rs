use super::*;

fn parsed(text: &str) -> Request {
    Request::parse(text.as_bytes()).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

fn refused(text: &str) -> Failure {
    Request::parse(text.as_bytes()).expect_err(text)
}

fn with(member: &str) -> String {
    format!(r#"{{"url":"https://api.example.com/",{member}}}"#)
}

#[test]
fn only_the_url_is_required() {
    let request = parsed(r#"{"url":"https://api.example.com/orders?n=1#top"}"#);
    assert_eq!(request.method, Method::GET);
    assert_eq!(request.url.as_str(), "https://api.example.com/orders?n=1");
    assert!(request.headers.is_empty() && request.body.is_none());
    assert!(matches!(request.output, Output::Inline));
    assert!(request.follow_redirects);
    assert_eq!(request.timeout, None);
}

#[test]
fn every_field() {
    let request = parsed(
        r#"{"method":"POST","url":"https://api.example.com/orders","headers":{"accept":"application/json"},
            "body":{"type":"json","json":{ "order": 1042 }},"output":{"type":"inline"},
            "follow_redirects":false,"timeout_ms":5000}"#,
    );
    assert_eq!(request.method, Method::POST);
    assert_eq!(request.headers["accept"], "application/json");
    assert_eq!(request.headers["content-type"], "application/json");
    let Some(Body::Bytes(body)) = request.body else { panic!("{:?}", request.body) };
    assert_eq!(body, r#"{ "order": 1042 }"#);
    assert!(!request.follow_redirects);
    assert_eq!(request.timeout, Some(Duration::from_millis(5000)));
}

#[test]
fn bodies() {
    let text = parsed(&with(r#""body":{"type":"text","text":"hé"}"#));
    assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
    let given = parsed(&with(r#""headers":{"content-type":"text/csv"},"body":{"text":"a,b","type":"text"}"#));
    assert_eq!(given.headers["content-type"], "text/csv");
    let file = parsed(&with(r#""body":{"type":"file","path":"/volume/tmp/in.bin"}"#));
    assert!(!file.headers.contains_key("content-type"));
    let null = parsed(&with(r#""body":{"type":"json","json":null}"#));
    assert!(matches!(null.body, Some(Body::Bytes(body)) if body == "null"));
    assert!(parsed(&with(r#""body":null,"timeout_ms":null"#)).body.is_none());
}

#[test]
fn headers_of_the_connection_are_dropped() {
    for name in OF_CONNECTION {
        assert!(parsed(&with(&format!(r#""headers":{{"{name}":"x"}}"#))).headers.is_empty(), "{name}");
    }
    let value = parsed(&with(r#""headers":{"x-a":" é\tb "}"#)).headers["x-a"].clone();
    assert_eq!(value.as_bytes(), "é\tb".as_bytes());
}

/// Each names the field.
#[test]
fn invalid_requests() {
    let whole = format!(r#"{{"url":"https://a.example/","headers":{{"x":"{}"}}}}"#, "x".repeat(8 << 20));
    assert!(refused(&whole).message.contains("8,388,608"));
    for (text, words) in [
        ("", "not JSON"),
        ("GET /", "not JSON"),
        ("[]", "is not an object"),
        ("null", "is not an object"),
        ("{}", "`url` is required"),
        (r#"{"url":1}"#, "`url` is not a string"),
        (r#"{"url":null}"#, "`url` is not a string"),
        (r#"{"url":""}"#, "`url`"),
        (r#"{"url":"/orders"}"#, "`url`"),
        (r#"{"url":"api.example.com"}"#, "`url`"),
        (r#"{"url":"https://"}"#, "`url`"),
        (r#"{"url":"https://a..example/"}"#, "`url`"),
        (r#"{"url":"https://[::1/"}"#, "`url`"),
        (r#"{"url":"https://a.example:99999/"}"#, "`url`"),
        (r#"{"url":"https://256.256.256.256/"}"#, "`url`"),
        (r#"{"url":"https://a\n.example/"}"#, "`url`"),
        (r#"{"url":" https://a.example/"}"#, "`url`"),
        (r#"{"url":"https://a.example/\u0000"}"#, "`url`"),
        (r#"{"url":"https://a.example/","url":"https://b.example/"}"#, "`url` is there twice"),
    ] {
        let failure = refused(text);
        assert_eq!(failure.kind, Kind::InvalidRequest, "{text}");
        assert!(failure.message.contains(words), "{text}: {failure}");
    }
    for (member, words) in [
        (r#""follow":true"#, "`follow` is not a known field"),
        (r#""method":"TRACE""#, "`method` is `TRACE`"),
        (r#""method":"CONNECT""#, "`method`"),
        (r#""method":"get""#, "`method`"),
        (r#""method":null"#, "`method`"),
        (r#""headers":[]"#, "`headers` is not an object"),
        (r#""headers":{"x":1}"#, "`headers.x` is not a string"),
        (r#""headers":{"x":["a"]}"#, "`headers.x` is not a string"),
        (r#""headers":{"Accept":"a"}"#, "`headers.Accept` is not in lower case"),
        (r#""headers":{"x y":"a"}"#, "`headers.x y`"),
        (r#""headers":{"":"a"}"#, "`headers.`"),
        (r#""headers":{":path":"/"}"#, "`headers.:path`"),
        (r#""headers":{"x\r\ny":"a"}"#, "`headers.x"),
        (r#""headers":{"x":"a\r\nb: c"}"#, "`headers.x` has a control character"),
        (r#""headers":{"x":"a\u0000"}"#, "`headers.x` has a control character"),
        (r#""headers":{"host":"a\nb"}"#, "`headers.host` has a control character"),
        (r#""headers":{"x":"1","x":"2"}"#, "`headers.x` is there twice"),
        (r#""body":"text""#, "`body` is not an object"),
        (r#""body":{}"#, "`body.type` is required"),
        (r#""body":{"type":"form"}"#, "`body.type` is none of"),
        (r#""body":{"type":"text"}"#, "`body.text` is required"),
        (r#""body":{"type":"text","text":"a","x":1}"#, "`body.x` is not a known field"),
        (r#""body":{"type":"text","text":"a","json":1}"#, "`body.json` is not a known field"),
        (r#""body":{"type":"json"}"#, "`body.json` is required"),
        (r#""body":{"type":"file"}"#, "`body.path` is required"),
        (r#""output":"inline""#, "`output` is not an object"),
        (r#""output":{"type":"inline","path":"/volume/tmp/a"}"#, "`output.path` is not a known field"),
        (r#""output":{"type":"none"}"#, "`output.type` is none of"),
        (r#""follow_redirects":1"#, "`follow_redirects` is not `true` or `false`"),
        (r#""timeout_ms":0"#, "`timeout_ms` is 0"),
        (r#""timeout_ms":-1"#, "`timeout_ms` is not a whole number"),
        (r#""timeout_ms":1.5"#, "`timeout_ms` is not a whole number"),
        (r#""timeout_ms":"1""#, "`timeout_ms` is not a whole number"),
    ] {
        let failure = refused(&with(member));
        assert_eq!(failure.kind, Kind::InvalidRequest, "{member}");
        assert!(failure.message.contains(words), "{member}: {failure}");
    }
    assert!(Request::parse(b"{\"url\":\"\xff\"}").unwrap_err().message.contains("UTF-8"));
}

/// Whatever a module sends, it is told something.
#[test]
fn requests_of_any_bytes() {
    let whole = br#"{"method":"POST","url":"https://u@a.example:1/p?q#f","headers":{"x":"\u00e9"},
        "body":{"type":"file","path":"/volume/tmp/a"},"timeout_ms":18446744073709551615}"#;
    assert!(Request::parse(whole).is_ok());
    for at in 0..whole.len() {
        let _ = Request::parse(&whole[..at]);
        for byte in [0, b'"', b'\\', b'{', b'[', b'%', b'.', 0x7f, 0xc3, 0xff] {
            let mut changed = whole.to_vec();
            changed[at] = byte;
            let _ = Request::parse(&changed);
        }
    }
    let deep =
        format!(r#"{{"url":"https://a.example/","body":{{"type":"json","json":{}"#, "[".repeat(1 << 20));
    assert_eq!(Request::parse(deep.as_bytes()).unwrap_err().kind, Kind::InvalidRequest);
}

#[test]
fn other_schemes_are_forbidden() {
    for url in ["http://a.example/", "HTTP://a.example/", "ftp://a.example/", "file:///etc/passwd", "data:,x"]
    {
        assert_eq!(refused(&format!(r#"{{"url":"{url}"}}"#)).kind, Kind::ForbiddenDestination, "{url}");
    }
}

#[test]
fn paths_outside_the_volume() {
    for member in [
        r#""body":{"type":"file","path":"/etc/passwd"}"#,
        r#""body":{"type":"file","path":"/package/a"}"#,
        r#""output":{"type":"file","path":"out.bin"}"#,
        r#""output":{"type":"file","path":"/volume/tmp/../../etc/passwd"}"#,
    ] {
        assert_eq!(refused(&with(member)).kind, Kind::BadPath, "{member}");
    }
}

#[test]
fn user_information_becomes_a_header() {
    let request = parsed(r#"{"url":"https://us%65r:pa%3Ass@api.example.com/"}"#);
    assert_eq!(request.url.as_str(), "https://api.example.com/");
    // user:pa:ss
    assert_eq!(request.headers["authorization"], "Basic dXNlcjpwYTpzcw==");
    let given = parsed(r#"{"url":"https://user@api.example.com/","headers":{"authorization":"own"}}"#);
    assert_eq!(given.headers["authorization"], "own");
}
