//! Test suites that reach servers of their own on loopback.

use super::{Field, Work, by_everybody, works};

const PYTHON: &str = "import http.server, threading, unittest, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
class Works(unittest.TestCase):
    def test_page(self):
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = 'http://localhost:%d/' % server.server_port
        self.assertEqual(urllib.request.urlopen(url).read(), b'hello')
";

const NODE: &str = "const { test } = require('node:test'); const assert = require('node:assert'); const http = require('node:http');
test('page', async () => {
  const server = http.createServer((request, response) => response.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await reply.text(), 'hello');
  server.close();
});
";

const SUITES: &[Work] = &[
    ("unittest", "python3", "python3 -m unittest -q test_page"),
    ("node:test", "node", "node --test page.test.js"),
];

#[test]
fn test_suites_reach_their_own_servers() {
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("work/test_page.py", PYTHON);
        field.site.write("work/page.test.js", NODE);
        works(&field, SUITES, &[]);
    });
}
