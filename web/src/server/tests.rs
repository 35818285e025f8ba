//! Requests as browsers and others make them, answered in process.

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::json;
use tower::ServiceExt;
use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_engine::lock::ThreadLock;
use uwf_engine::record::{Detail, Turn};
use uwf_engine::thread;
use uwf_engine::view::StepDiff;
use uwf_store::{Hash, Store};

use super::{Access, App, router};
use crate::{Host, Site, page_of};

const HOSTILE: &str =
    "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\x1b[31m'\"&";

/// Notes what it is asked for.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Host for Noted {
    fn changes(&self, _: &Store, _: &Hash) -> Result<StepDiff, String> {
        Err(HOSTILE.to_owned())
    }
    fn answer(&self, thread: &ThreadId, text: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(format!("answer {thread} {text}"));
        if text == "refuse" { Err(HOSTILE.to_owned()) } else { Ok(()) }
    }
    fn run(&self, thread: &ThreadId) -> Result<(), String> {
        self.0.lock().unwrap().push(format!("run {thread}"));
        Ok(())
    }
    fn stop(&self, thread: &ThreadId) -> Result<(), String> {
        self.0.lock().unwrap().push(format!("stop {thread}"));
        Ok(())
    }
}

struct Fixture {
    place: Place,
    noted: Noted,
    app: Arc<App>,
}

impl Fixture {
    fn new() -> Fixture {
        let (place, noted) = (Place::new(), Noted::default());
        let site = Site::new(place.store(), place.homes(), None, Box::new(noted.clone()));
        let secret = |name: &str| format!("{name}-secret");
        let access = Access {
            token: secret("token"),
            session: secret("session"),
            csrf: secret("csrf"),
            hosts: Vec::new(),
        };
        let app = App::new(site, access, "127.0.0.1:8123".parse().unwrap());
        Fixture { place, noted, app }
    }

    /// A step whose record, output and prompt are hostile, as the head of a thread.
    fn hostile(&self) -> (ThreadId, Hash) {
        let thread = self.place.thread(&format!("{HOSTILE}\nsecond line"));
        let store = self.place.store();
        let turns = [
            json!({"role": "system", "content": HOSTILE, "kind": "opening", "at": 1}),
            json!({"role": "assistant", "content": HOSTILE, "reasoning": HOSTILE, "kind": "turn", "at": 2,
                   "toolCalls": [{"id": "a", "name": "x", "args": json!({"path": HOSTILE}).to_string()}]}),
            json!({"role": "tool", "callId": "a", "content": format!("{HOSTILE}{}", "long ".repeat(2000)), "kind": "result", "failed": true, "at": 3}),
        ];
        let mut batch = store.batch();
        let turns: Vec<Hash> =
            turns.into_iter().map(|turn| Turn::of(turn).put(&mut batch).unwrap()).collect();
        let messages = Some(turns.into_iter().map(Into::into).collect());
        let detail = Detail { messages, ..Detail::empty("s", HOSTILE) }.put(&mut batch).unwrap();
        batch.commit().unwrap();
        let hash = self.place.step(&thread, None, "writer", &json!({"$status": "done", "dir": HOSTILE}));
        let mut step = thread::step_node(&store, &hash).unwrap();
        (step.detail, step.agent, step.edge_prompt) = (detail, HOSTILE.to_owned(), HOSTILE.to_owned());
        let hash = store.put(&step.type_(), &json!(step)).unwrap();
        let head = thread::head(&store, &thread).unwrap();
        thread::advance(&store, &thread, &head.hash, &hash, &thread::Status::Idle).unwrap();
        (thread, hash)
    }

    /// A thread goes on with a step of this status; where it stands then.
    fn advance(&self, thread: &ThreadId, prev: Option<Hash>, status: &str) -> Hash {
        let store = self.place.store();
        let step = self.place.step(thread, prev, "writer", &json!({"$status": status, "dir": "x"}));
        let head = thread::head(&store, thread).unwrap();
        thread::advance(&store, thread, &head.hash, &step, &thread::Status::Idle).unwrap();
        step
    }

    async fn ask(&self, request: Request<Body>) -> (StatusCode, String, String) {
        let response = router(Arc::clone(&self.app)).oneshot(request).await.unwrap();
        let headers = format!("{:?}", response.headers());
        let status = response.status();
        let body = to_bytes(response.into_body(), 10_000_000).await.unwrap();
        (status, headers, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let (status, _, body) = self.ask(request("GET", path, &[COOKIE], "")).await;
        (status, body)
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], form: &str) -> StatusCode {
        let form_type = ("content-type", "application/x-www-form-urlencoded");
        self.ask(request("POST", path, &[headers, &[form_type]].concat(), form)).await.0
    }
}

const COOKIE: (&str, &str) = ("cookie", "other=1; uwf-8123=session-secret");
const ORIGIN: (&str, &str) = ("origin", "http://127.0.0.1:8123");

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "127.0.0.1:8123");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

#[tokio::test]
async fn without_the_token_there_is_nothing() {
    let fixture = Fixture::new();
    let thread = fixture.place.thread("Private words.");
    let page = format!("/t/{thread}");
    let none: [&[(&str, &str)]; 5] = [
        &[],
        &[("cookie", "uwf-8123=token-secret")],
        &[("cookie", "uwf-8124=session-secret")],
        &[("authorization", "Bearer session-secret")],
        &[("cookie", "uwf-8123=")],
    ];
    for headers in none {
        for path in ["/", page.as_str(), "/assets/app.js", "/events?topic=list", "/none", "/?token=wrong"] {
            let (status, _, body) = fixture.ask(request("GET", path, headers, "")).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path} {headers:?}");
            assert!(!body.contains("Private"));
        }
    }
    let (status, headers, _) = fixture.ask(request("GET", "/?token=token-secret", &[], "")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    for word in [
        "uwf-8123=session-secret; Path=/; HttpOnly; SameSite=Strict",
        "\"location\": \"/\"",
        "no-store",
        "default-src 'none'",
    ] {
        assert!(headers.contains(word), "{word} is not in {headers}");
    }
    assert!(!headers.contains("token-secret"), "the token stays out of the history");
    let (status, body) = fixture.get(&page).await;
    assert!(status.is_success() && body.contains("Private words."));
    let bearer = request("GET", "/", &[("authorization", "Bearer token-secret")], "");
    assert_eq!(fixture.ask(bearer).await.0, StatusCode::OK);
}

#[tokio::test]
async fn by_another_name_there_is_nothing() {
    let fixture = Fixture::new();
    for host in ["evil.example:8123", "127.0.0.1:9999", "127.0.0.1", ""] {
        let (status, _, body) = fixture.ask(request("GET", "/", &[COOKIE, ("host", host)], "")).await;
        assert_eq!((status, body.contains("<html")), (StatusCode::MISDIRECTED_REQUEST, false), "{host}");
        let exchange = request("GET", "/?token=token-secret", &[("host", host)], "");
        assert_eq!(fixture.ask(exchange).await.0, StatusCode::MISDIRECTED_REQUEST);
    }
    let of = |headers: &[(&str, &str)]| request("GET", "/", &[&[COOKIE], headers].concat(), "");
    assert_eq!(fixture.ask(of(&[("origin", "http://evil.example")])).await.0, StatusCode::FORBIDDEN);
    assert_eq!(fixture.ask(of(&[ORIGIN])).await.0, StatusCode::OK);
}

#[tokio::test]
async fn only_a_form_of_ours_changes_anything() {
    let fixture = Fixture::new();
    let thread = fixture.place.flow_thread();
    let head = fixture.advance(&thread, None, "waits");
    let path = |action: &str| format!("/t/{thread}/{action}");
    let form = &format!("csrf=csrf-secret&head={head}&text=Yes%21%0D%0AAnd+more");
    let foreign: [&[(&str, &str)]; 6] = [
        &[COOKIE],
        &[COOKIE, ("origin", "http://evil.example")],
        &[COOKIE, ("origin", "null")],
        &[COOKIE, ("origin", "https://127.0.0.1:8123")],
        &[COOKIE, ORIGIN, ("sec-fetch-site", "cross-site")],
        &[COOKIE, ORIGIN, ORIGIN],
    ];
    for headers in foreign {
        for action in ["answer", "run", "stop"] {
            assert_eq!(
                fixture.post(&path(action), headers, form).await,
                StatusCode::FORBIDDEN,
                "{headers:?}"
            );
        }
    }
    assert_eq!(fixture.post(&path("run"), &[ORIGIN], form).await, StatusCode::UNAUTHORIZED);
    for form in ["csrf=wrong&text=x", "text=x", ""] {
        assert_eq!(
            fixture.post(&path("answer"), &[COOKIE, ORIGIN], form).await,
            StatusCode::FORBIDDEN,
            "{form}"
        );
    }
    assert_eq!(fixture.get(&path("run")).await.0, StatusCode::METHOD_NOT_ALLOWED);
    assert!(fixture.noted.0.lock().unwrap().is_empty());
    for action in ["answer", "run", "stop"] {
        assert_eq!(fixture.post(&path(action), &[COOKIE, ORIGIN], form).await, StatusCode::SEE_OTHER);
    }
    let asked =
        [format!("answer {thread} Yes!\nAnd more"), format!("run {thread}"), format!("stop {thread}")];
    assert_eq!(*fixture.noted.0.lock().unwrap(), asked);
    let refused = &format!("csrf=csrf-secret&head={head}&text=refuse");
    assert_eq!(fixture.post(&path("answer"), &[COOKIE, ORIGIN], refused).await, StatusCode::CONFLICT);
    let blank = &format!("csrf=csrf-secret&head={head}&text=+");
    assert_eq!(fixture.post(&path("answer"), &[COOKIE, ORIGIN], blank).await, StatusCode::CONFLICT);
    let none = "/t/01ZZZZZZZZZZZZZZZZZZZZZZZZ/run";
    assert_eq!(fixture.post(none, &[COOKIE, ORIGIN], form).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_answer_goes_to_the_question_it_was_typed_for() {
    let fixture = Fixture::new();
    let thread = fixture.place.flow_thread();
    let first = fixture.advance(&thread, None, "waits");
    let (page, path) = (format!("/t/{thread}"), format!("/t/{thread}/answer"));
    let field = |head: &Hash| format!("<input type=\"hidden\" name=\"head\" value=\"{head}\">");
    assert!(fixture.get(&page).await.1.contains(&field(&first)));
    let second = fixture.advance(&thread, Some(first), "waits");
    assert!(fixture.get(&page).await.1.contains(&field(&second)));
    let answer = async |head: &str| {
        let form = format!("csrf=csrf-secret&head={head}&text=Yes");
        fixture.post(&path, &[COOKIE, ORIGIN], &form).await
    };
    for stale in [&first.to_string(), "", "x"] {
        assert_eq!(answer(stale).await, StatusCode::CONFLICT, "{stale}");
    }
    let lock = ThreadLock::acquire(&fixture.place.homes().uwf, &thread, &second, 0).unwrap();
    assert_eq!(answer(&second.to_string()).await, StatusCode::CONFLICT, "it is answered just now");
    drop(lock);
    let ended = thread::Status::Ended { completed_at: 5 };
    thread::advance(&fixture.place.store(), &thread, &second, &second, &ended).unwrap();
    assert_eq!(answer(&second.to_string()).await, StatusCode::CONFLICT, "it asks nothing");
    assert!(fixture.noted.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_others_wrote_never_is_markup() {
    let fixture = Fixture::new();
    let (thread, hash) = fixture.hostile();
    let query = "q=%3Cscript%3Ealert(1)%3C/script%3E&dir=%22%3E%3Cimg%20src=x%3E&workflow=%22%3E%3Cscript%3E";
    let pages = [
        "/".to_owned(),
        format!("/?{query}"),
        format!("/t/{thread}"),
        format!("/t/{thread}?role=%3Cscript%3E"),
        format!("/t/{thread}/s/1"),
        format!("/t/{thread}/s/{hash}"),
        format!("/t/{thread}/s/1/m/2"),
        format!("/t/{thread}/s/1/m/3"),
    ];
    let mut all = Vec::new();
    for page in pages {
        let (status, body) = fixture.get(&page).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        all.push(body);
    }
    all.push(page_of(&fixture.app.site, &thread).unwrap());
    for body in all {
        let ours = body.replace("<script src=\"/assets/app.js\"></script>", "");
        for markup in ["<script", "<img", "\u{202e}", "\x1b"] {
            assert!(!ours.contains(markup), "{markup:?} is in {body}");
        }
        let titled = ours.contains("&lt;/title&gt;") || ours.contains("No thread is like that");
        assert!(titled, "{body}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let fixture = Fixture::new();
    let (thread, _) = fixture.hostile();
    let other = fixture.place.thread("Another.");
    let foreign = fixture.place.step(&other, None, "writer", &json!({"$status": "done", "dir": "x"}));
    for path in [
        "/none".to_owned(),
        "/assets/none.js".to_owned(),
        "/assets/..%2f..%2fCargo.toml".to_owned(),
        "/t/x".to_owned(),
        "/t/01ZZZZZZZZZZZZZZZZZZZZZZZZ".to_owned(),
        format!("/t/{thread}/s/2"),
        format!("/t/{thread}/s/0"),
        format!("/t/{thread}/s/{foreign}"),
        format!("/t/{thread}/s/1/m/4"),
        format!("/t/{thread}/s/1/m/0"),
        "/events?topic=x".to_owned(),
        "/events".to_owned(),
    ] {
        let (status, body) = fixture.get(&path).await;
        assert_eq!((status, body.contains("<h1>")), (StatusCode::NOT_FOUND, true), "{path}");
    }
}

#[tokio::test]
async fn filters_let_through_what_they_say() {
    let fixture = Fixture::new();
    let [one, other] = ["Mend the roof", "Paint the door"].map(|task| fixture.place.thread(task));
    // Of two of one moment the id decides which is older.
    let (older, younger) = (one.min(other), one.max(other));
    let project = fixture.place.project().display().to_string();
    for (query, found) in [
        (String::new(), [true, true]),
        ("?q=ROOF".to_owned(), [true, false]),
        ("?q=the+roof+flow".to_owned(), [true, false]),
        ("?status=idle".to_owned(), [true, true]),
        ("?status=active&workflow=flow".to_owned(), [true, true]),
        ("?status=end".to_owned(), [false, false]),
        ("?workflow=none".to_owned(), [false, false]),
        (format!("?dir={project}/"), [true, true]),
        (format!("?dir={}", &project[..project.len() - 1]), [false, false]),
        (format!("?before={younger}"), [one == older, other == older]),
    ] {
        let (_, body) = fixture.get(&format!("/{query}")).await;
        let is_there = [one, other].map(|thread| body.contains(&format!("thread-{thread}")));
        assert_eq!(is_there, found, "{query}");
    }
}

#[tokio::test]
async fn a_long_result_is_cut_and_is_there_whole() {
    let fixture = Fixture::new();
    let (thread, _) = fixture.hostile();
    let (_, step) = fixture.get(&format!("/t/{thread}/s/1")).await;
    let whole = format!("href=\"/t/{thread}/s/1/m/3\"");
    assert!(step.contains(&whole) && step.len() < 40_000, "{}", step.len());
    let (_, message) = fixture.get(&format!("/t/{thread}/s/1/m/3")).await;
    assert!(message.contains(&"long ".repeat(2000)));
}

#[tokio::test]
async fn a_stream_of_too_many_follows_the_youngest() {
    let fixture = Fixture::new();
    let topics: Vec<String> = (1..=80).map(|at| format!("topic={}", ThreadId::new(at))).collect();
    let stream = request("GET", &format!("/events?topic=list&{}", topics.join("&")), &[COOKIE], "");
    let response = router(Arc::clone(&fixture.app)).oneshot(stream).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let followed = fixture.app.watch.topics();
    assert!(followed.len() == 64 && followed.contains(&"list".to_owned()), "{followed:?}");
    let is_followed = |topic: &String| followed.contains(&topic["topic=".len()..].to_owned());
    assert!(topics[17..].iter().all(is_followed) && !topics[..17].iter().any(is_followed));
}

#[tokio::test]
async fn a_page_has_the_version_that_its_stream_tells() {
    let fixture = Fixture::new();
    let thread = fixture.place.flow_thread();
    let version = |app: &App| app.version(&thread.to_string());
    let before = version(&fixture.app);
    let (_, page) = fixture.get(&format!("/t/{thread}")).await;
    assert!(page.contains(&format!("data-version=\"{before}\"")));
    assert_eq!(version(&fixture.app), before);
    let store = fixture.place.store();
    let step = fixture.place.step(&thread, None, "writer", &json!({"$status": "done", "dir": "x"}));
    let head = thread::head(&store, &thread).unwrap();
    thread::advance(&store, &thread, &head.hash, &step, &thread::Status::Idle).unwrap();
    assert_ne!(version(&fixture.app), before);
}

mod evaluations;
mod remote;
