//! What a turn costs on our side: the time from the last byte of an endpoint's reply to the last byte of the next
//! request, tool call, journal and its syncs included. The endpoint measures it, so nothing of its own work is in it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::bench_home::BenchHome;

/// How a run of many turns went.
pub(crate) struct Turns {
    /// Our side of each turn, in order.
    times: Vec<Duration>,
    /// The largest resident set, in KiB.
    pub(crate) peak: u64,
}

impl Turns {
    /// A run of `count` turns with a tool call each.
    pub(crate) fn of(home: &BenchHome, count: usize) -> Turns {
        let (url, server) = endpoint(count);
        let thread = home.thread();
        let args = [
            thread.as_str(),
            "worker",
            "--prompt",
            "Answer.",
            "--base-url",
            &url,
            "--model",
            "m",
            "--max-turns",
            "1000000",
        ];
        let mut child = home.agent(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let peak = home.peak_memory(&mut child, Duration::from_millis(5));
        Turns { times: server.join().unwrap(), peak }
    }

    /// The mean of these turns.
    pub(crate) fn mean(&self, turns: std::ops::Range<usize>) -> Duration {
        let times = &self.times[turns];
        times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap()
    }

    /// The median of these turns.
    pub(crate) fn median(&self, turns: std::ops::Range<usize>) -> Duration {
        let mut times = self.times[turns].to_vec();
        times.sort();
        times[times.len() / 2]
    }

    /// How many turns were measured.
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }
}

/// An endpoint that asks for `count` tool calls, none like another, and then answers.
fn endpoint(count: usize) -> (String, JoinHandle<Vec<Duration>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (url, thread::spawn(move || serve(&listener, count)))
}

fn serve(listener: &TcpListener, count: usize) -> Vec<Duration> {
    let mut stream = BufReader::new(listener.accept().unwrap().0);
    let (mut times, mut body, mut sent) = (Vec::new(), Vec::new(), None);
    for turn in 0..=count {
        while !request(&mut stream, &mut body) {
            stream = BufReader::new(listener.accept().unwrap().0);
        }
        times.extend(sent.map(|sent: Instant| sent.elapsed()));
        stream.get_mut().write_all(&reply(turn, count)).unwrap();
        sent = Some(Instant::now());
    }
    times
}

/// Reads one request; false when the connection is over.
fn request(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> bool {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    body.resize(length, 0);
    stream.read_exact(body).is_ok()
}

fn reply(turn: usize, count: usize) -> Vec<u8> {
    let message = if turn < count {
        let arguments = format!(r#"{{\"path\":\"notes.txt\",\"limit\":{}}}"#, turn + 1);
        let function = format!(r#"{{"name":"read_file","arguments":"{arguments}"}}"#);
        let call = format!(r#"{{"id":"call{turn:05}","index":0,"type":"function","function":{function}}}"#);
        format!(r#"{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}"#)
    } else {
        r#"{"delta":{"content":"---\n$status: done\n---\nDone."},"finish_reason":"stop"}"#.to_owned()
    };
    let events = format!("data: {{\"choices\":[{message}]}}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length";
    format!("{head}: {}\r\n\r\n{events}", events.len()).into_bytes()
}
