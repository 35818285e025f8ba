//! Pages of the web: what a model gets of them through the whole program, and what it does not. All on loopback, where one
//! server has pages and another stands for the inside, which nobody may ever ask.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::endpoint::{Asked, Endpoint, text};
use crate::site::{Said, Site, example};

const SECRET: &str = "what only the inside knows";

/// A server that counts who comes; `{inside}` in what it answers is the port of the other one.
struct Pages {
    port: u16,
    came: Arc<AtomicUsize>,
}

impl Pages {
    fn new(answer: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Pages {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, came) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let (counted, answer) = (Arc::clone(&came), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                counted.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let mut head = String::new();
                    BufReader::new(stream.try_clone().unwrap()).read_line(&mut head).ok();
                    answer(head.split(' ').nth(1).unwrap_or_default(), &mut stream).ok();
                });
            }
        });
        Pages { port, came }
    }

    fn inside() -> Pages {
        Pages::new(|_, stream| respond(stream, "200 OK", "content-type: text/plain\r\n", SECRET.as_bytes()))
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

/// The answer of a planner.
fn planned() -> Value {
    text("---\n$status: planned\nfiles: [a]\nplan: p\n---\n")
}

/// An endpoint that has all these fetched in one turn, and then answers.
fn asking(urls: Vec<String>) -> Endpoint {
    Endpoint::new(move |number, _| {
        if number > 0 {
            return (200, planned());
        }
        let call = |(index, url): (usize, &String)| {
            let function = json!({"name": "fetch_url", "arguments": json!({ "url": url }).to_string()});
            json!({"id": format!("call{index:05}"), "type": "function", "function": function})
        };
        let calls: Vec<Value> = urls.iter().enumerate().map(call).collect();
        (200, json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]}))
    })
}

fn run(site: &Site, endpoint: &Endpoint, options: &[&str]) -> Said {
    let workflow = example("solve-issue/workflow.yaml");
    let run =
        ["run", &workflow, "--role", "planner", "-p", "plan", "--base-url", &endpoint.url, "--model", "any"];
    site.agent(&[&run[..], options].concat())
}

fn configured(site: &Site, fetch: &str) {
    site.write("home/.uwf/agents/builtin.yaml", &format!("fetch: {fetch}\n"));
    assert!(site.home().join(".uwf/agents/builtin.yaml").is_file());
}

/// What the model was told of its calls, in their order.
fn results(asked: &[Asked]) -> Vec<String> {
    let request = asked[1].json();
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn tools(asked: &Asked) -> Vec<String> {
    let request = asked.json();
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_page_is_fetched_told_and_recorded() {
    let pages = Pages::new(|path, stream| match path {
        "/old" => respond(stream, "301 Moved Permanently", "location: /new\r\n", b""),
        _ => respond(
            stream,
            "200 OK",
            "content-type: text/html\r\n",
            b"<title>New</title><h1>Sum</h1><p>of <b>all</b>.",
        ),
    });
    let site = Site::new();
    configured(&site, &format!("{{ hosts: ['127.0.0.1:{}'], private: true }}", pages.port));
    let url = format!("http://127.0.0.1:{}/old", pages.port);
    let endpoint = asking(vec![url.clone()]);
    let said = run(&site, &endpoint, &["--format", "json"]).ok();
    let asked = endpoint.asked();
    assert!(tools(&asked[0]).contains(&"fetch_url".to_owned()));
    let told = &results(&asked)[0];
    let new = url.replace("old", "new");
    assert!(told.starts_with(&format!("{new}\n(200, text/html, 47 bytes, sha256 ")), "{told}");
    assert!(told.ends_with(&format!("; sent on from {url})\ntitle: New\n\n# Sum\n\nof all.")), "{told}");
    assert_eq!(pages.came(), 2);
    let step = said.json()["stepHash"].as_str().unwrap().to_owned();
    let shown = site.uwf(&["step", "show", &step, "--format", "json"]).ok().json();
    assert!(
        shown.to_string().contains(&format!("127.0.0.1:{}", pages.port)),
        "the settings tell which hosts: {shown}"
    );
    let read = site.uwf(&["step", "read", &step]).ok().out;
    assert!(read.contains("of all."), "{read}");
    site.verify();
    // A replay is the site's last act: pages come from the record then.
    drop(site);
    assert_eq!(pages.came(), 2);
}

#[test]
fn without_a_host_there_is_no_such_tool_and_a_role_can_be_without() {
    let site = Site::new();
    let endpoint = Endpoint::new(|_, _| (200, planned()));
    run(&site, &endpoint, &[]).ok();
    run(&site, &endpoint, &["--fetch-host", "docs.example"]).ok();
    run(&site, &endpoint, &["--fetch-host", "docs.example", "--tools", "read_file"]).ok();
    run(&site, &endpoint, &["--fetch-host", "docs.example", "--tools", "read_file,fetch_url"]).ok();
    site.write("home/.uwf/agents/builtin.yaml", "roles: { solve-issue/planner: { network: false } }\n");
    run(&site, &endpoint, &["--fetch-host", "docs.example"]).ok();
    let offered: Vec<bool> =
        endpoint.asked().iter().map(|asked| tools(asked).contains(&"fetch_url".to_owned())).collect();
    assert_eq!(offered, [false, true, false, true, false]);
    run(&site, &endpoint, &["--tools", "fetch_url"])
        .fails(1, &["no host may be fetched from", "--fetch-host docs.rs"]);
    run(&site, &endpoint, &["--fetch-host", "https://a/b"])
        .fails(1, &["--fetch-host: \"https://a/b\" is no host"]);
    configured(&site, "{ hosts: ['a b'] }");
    run(&site, &endpoint, &[]).fails(1, &["fetch.hosts: \"a b\" is no host", "docs.rs"]);
    assert_eq!(endpoint.asked().len(), 5);
}

#[test]
fn a_long_page_is_kept_whole_and_read_on() {
    let body: String = (1..=20_000).map(|n| format!("line {n}\n")).collect();
    let pages = Pages::new(move |_, stream| {
        respond(stream, "200 OK", "content-type: text/plain\r\n", body.as_bytes())
    });
    let site = Site::new();
    configured(&site, &format!("{{ hosts: ['127.0.0.1:{}'], private: true }}", pages.port));
    let url = format!("http://127.0.0.1:{}/", pages.port);
    let endpoint = Endpoint::new(move |number, asked| match number {
        0 => (200, crate::endpoint::call(0, "fetch_url", &json!({ "url": url }))),
        1 => {
            let told = asked.body.split("tool_output hash=").nth(1).unwrap();
            (
                200,
                crate::endpoint::call(
                    1,
                    "tool_output",
                    &json!({"hash": told[..13], "offset": 10_000, "limit": 1}),
                ),
            )
        }
        _ => (200, planned()),
    });
    run(&site, &endpoint, &[]).ok();
    let last = endpoint.asked()[2].body.clone();
    assert!(
        last.contains("line 9997") && last.contains("line 20000"),
        "the page begins with three lines of ours"
    );
    site.verify();
}

/// A server of pages by TLS: `openssl s_server`, ended with the test.
struct TlsPages(std::process::Child);

impl Drop for TlsPages {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl TlsPages {
    /// The server and its port; its certificate is `cert.pem` of the workspace.
    fn start(site: &Site) -> (TlsPages, u16) {
        let make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
                    -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE";
        let made = site.command("sh").args(["-c", make]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        drop(taken);
        let accept = format!("127.0.0.1:{port}");
        let mut server = site.command("openssl");
        server
            .args(["s_server", "-accept", &accept, "-cert", "cert.pem", "-key", "key.pem", "-WWW", "-quiet"]);
        let server =
            server.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let server = TlsPages(server);
        for _ in 0..200 {
            if TcpStream::connect(&accept).is_ok() {
                return (server, port);
            }
            thread::sleep(std::time::Duration::from_millis(25));
        }
        panic!("openssl does not listen");
    }
}

#[test]
fn a_page_comes_by_tls_from_whom_it_should_and_from_nobody_else() {
    let site = Site::new();
    if site.command("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is not here");
        return;
    }
    fs::write(site.workspace().join("page.html"), "<h1>By TLS</h1>").unwrap();
    let (_server, port) = TlsPages::start(&site);
    configured(&site, &format!("{{ hosts: ['*:{port}'], private: true }}"));
    let fetched = |host: &str, trusted: &str| {
        let endpoint = asking(vec![format!("https://{host}:{port}/page.html")]);
        let workflow = example("solve-issue/workflow.yaml");
        let run = [
            "run",
            &workflow,
            "--role",
            "planner",
            "-p",
            "plan",
            "--base-url",
            &endpoint.url,
            "--model",
            "any",
        ];
        let mut agent = site.command(crate::site::AGENT);
        agent.args(run).env("SSL_CERT_FILE", site.workspace().join(trusted));
        assert!(agent.output().unwrap().status.success());
        results(&endpoint.asked()).remove(0)
    };
    assert!(fetched("localhost", "cert.pem").ends_with("\n\n# By TLS"));
    for (host, trusted) in [("127.0.0.1", "cert.pem"), ("localhost", "no.pem")] {
        let told = fetched(host, trusted);
        assert!(told.starts_with("nothing was fetched: ") && told.contains("certificate"), "{host}: {told}");
    }
}

/// Spellings of the inside, and of what is no page at all.
const SPELLINGS: &[&str] = &[
    "http://127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST.:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0x7f.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://①②⑦.0.0.①:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://0.0.0.0:PORT/",
    "http://0:PORT/",
    "http://[::]:PORT/",
    "http://127.255.255.254:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://172.16.0.1/",
    "http://100.64.0.1/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://224.0.0.1/",
    "http://user:key@127.0.0.1:PORT/",
    "http://docs.example\\@127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/ HTTP/1.1\r\nX: y",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "ftp://127.0.0.1:PORT/",
    "gopher://127.0.0.1:PORT/_GET",
    "data:text/plain,hi",
    "unix:/run/docker.sock",
    "127.0.0.1:PORT",
    "",
];

#[test]
fn no_spelling_leads_inside_even_where_every_host_is_allowed() {
    let (site, inside) = (Site::new(), Pages::inside());
    let urls = SPELLINGS.iter().map(|url| url.replace("PORT", &inside.port.to_string())).collect::<Vec<_>>();
    let endpoint = asking(urls.clone());
    let any = format!("*:{}", inside.port);
    run(&site, &endpoint, &["--fetch-host", "*", "--fetch-host", &any]).ok();
    let results = results(&endpoint.asked());
    assert_eq!(results.len(), urls.len());
    for (url, told) in urls.iter().zip(&results) {
        assert!(told.starts_with("nothing was fetched: "), "{url}: {told}");
    }
    assert_eq!(inside.came(), 0);
    assert_eq!(site.contains(SECRET), None);
}

/// A server that does what it can.
fn hostile(path: &str, stream: &mut TcpStream, inside: u16) -> std::io::Result<()> {
    let gzip = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
    match path {
        "/bomb" => respond(stream, "200 OK", gzip, &bomb()),
        "/endless" => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 65_536])?;
            }
        }
        "/slow" => {
            thread::sleep(std::time::Duration::from_secs(20));
            Ok(())
        }
        "/image" => respond(stream, "200 OK", "content-type: image/png\r\n", b"\x89PNG"),
        "/refresh" => {
            let html = format!("<meta http-equiv=refresh content='0;url=http://127.0.0.1:{inside}/'><p>here");
            let headers = format!("content-type: text/html\r\nrefresh: 0;url=http://127.0.0.1:{inside}/\r\n");
            respond(stream, "200 OK", &headers, html.as_bytes())
        }
        "/loop" => respond(stream, "302 Found", "location: /loop\r\n", b""),
        path => {
            let to = path.trim_start_matches("/to/");
            respond(stream, "302 Found", &format!("location: {to}\r\n"), b"")
        }
    }
}

/// 64 MB of nothing in a few KB: one deflate block of zeros after the other, as `gzip` writes them.
fn bomb() -> Vec<u8> {
    let zeros = std::process::Command::new("sh")
        .args(["-c", "head -c 67108864 /dev/zero | gzip -9"])
        .output()
        .unwrap();
    assert!(zeros.status.success() && zeros.stdout.len() < 100_000);
    zeros.stdout
}

#[test]
fn a_server_that_is_allowed_leads_nowhere_and_eats_nothing() {
    let (site, inside) = (Site::new(), Pages::inside());
    let port = inside.port;
    let pages = Pages::new(move |path, stream| hostile(path, stream, port));
    configured(
        &site,
        &format!("{{ hosts: ['127.0.0.1:{}'], private: true, maxBytes: 1000000, seconds: 3 }}", pages.port),
    );
    let attacks = [
        (format!("to/http://127.0.0.1:{port}/"), "not by http on port"),
        (format!("to/http://localhost:{port}/"), "localhost is not among the hosts"),
        (format!("to/http://[::1]:{port}/"), "::1 is not among the hosts"),
        (format!("to/http://0x7f.1:{port}/"), "not by http on port"),
        (format!("to/http://key@127.0.0.1:{}/", pages.port), "a user name or password"),
        ("to/http://169.254.169.254/".to_owned(), "not among the hosts"),
        ("to/file:///etc/passwd".to_owned(), "only http and https"),
        ("loop".to_owned(), "more than 5 times"),
        ("bomb".to_owned(), "more than the 1000000 bytes"),
        ("endless".to_owned(), "more than the 1000000 bytes"),
        ("slow".to_owned(), "longer than 3 s"),
        ("image".to_owned(), "it is image/png"),
    ];
    let mut urls: Vec<String> =
        attacks.iter().map(|(path, _)| format!("http://127.0.0.1:{}/{path}", pages.port)).collect();
    urls.push(format!("http://127.0.0.1:{}/refresh", pages.port));
    let endpoint = asking(urls);
    run(&site, &endpoint, &[]).ok();
    let results = results(&endpoint.asked());
    for ((path, why), told) in attacks.iter().zip(&results) {
        assert!(told.starts_with("nothing was fetched: ") && told.contains(why), "{path}: {told}");
    }
    assert!(results[attacks.len()].ends_with("\n\nhere"), "{}", results[attacks.len()]);
    assert_eq!(inside.came(), 0);
    assert_eq!(site.contains(SECRET), None);
}

#[test]
fn a_host_is_kept_with_its_thread_and_not_taken_from_elsewhere() {
    let site = Site::new();
    let mock = site.write("m.yaml", "turns: [{content: \"---\\n$status: planned\\nfiles: [a]\\nplan: p\\n---\\n\", expect: {tools: fetch_url}}]\n");
    let thread = site.start(&example("solve-issue/workflow.yaml"), "plan");
    site.uwf(&["thread", "exec", &thread, "--mock", &mock, "--fetch-host", "docs.example"]).ok();
    let shown = site.uwf(&["thread", "show", &thread, "--format", "json"]).ok().json();
    assert_eq!(shown["options"]["fetchHosts"], json!(["docs.example"]), "{shown}");
    let file = site.workspace().join("thread.json");
    site.uwf(&["thread", "export", &thread, "-o", file.to_str().unwrap()]).ok();
    let other = Site::new();
    fs::copy(&file, other.workspace().join("thread.json")).unwrap();
    let imported = other.uwf(&["thread", "import", "thread.json"]);
    assert!(imported.err.contains("fetchHosts"), "{}", imported.err);
}
