//! Ways of Python and Node to do several things at once: processes, threads, shared memory, sockets of the file system.

use super::{Field, Work, by_everybody, works};

/// Each function is a check; the program runs the one that it is told.
const PYTHON: &str = "import asyncio, concurrent.futures, fcntl, multiprocessing, multiprocessing.shared_memory, os, pty, signal
import socket, sqlite3, subprocess, sys, tempfile, threading

def double(n): return 2 * n

def pool():
    with multiprocessing.Pool(2) as pool: assert pool.map(double, range(5)) == [0, 2, 4, 6, 8]

def spawn():
    with multiprocessing.get_context('spawn').Pool(2) as pool: assert pool.map(double, [1, 2]) == [2, 4]

def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(double, [1, 2])) == [2, 4]

def put(queue, lock, value):
    with lock: value.value += 1
    queue.put(os.getpid())

def queue():
    queue, lock, value = multiprocessing.Queue(), multiprocessing.Lock(), multiprocessing.Value('i', 0)
    children = [multiprocessing.Process(target=put, args=(queue, lock, value)) for _ in range(3)]
    for child in children: child.start()
    assert len({queue.get(timeout=30) for _ in children}) == 3
    for child in children: child.join()
    assert value.value == 3

def manager():
    with multiprocessing.Manager() as manager:
        held = manager.dict(); held['a'] = 1; assert dict(held) == {'a': 1}

def shared():
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=64)
    memory.buf[0] = 7
    again = multiprocessing.shared_memory.SharedMemory(memory.name); assert again.buf[0] == 7
    again.close(); memory.close(); memory.unlink()

def threads():
    done = []
    all = [threading.Thread(target=done.append, args=(n,)) for n in range(50)]
    for one in all: one.start()
    for one in all: one.join()
    assert len(done) == 50

def terminal():
    assert pty.spawn(['sh', '-c', 'test -t 0 && test -t 1']) == 0

def serve(path):
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    def answer():
        visitor, _ = server.accept(); visitor.sendall(visitor.recv(5)); visitor.close()
    threading.Thread(target=answer, daemon=True).start()
    client = socket.socket(socket.AF_UNIX); client.connect(path); client.sendall(b'hello')
    assert client.recv(5) == b'hello'

def unix_here(): serve('here.sock')

def unix_temporary(): serve(os.environ['TMPDIR'] + '/there.sock')

def unix_datagram():
    name = os.environ['TMPDIR'] + '/datagram.sock'
    server, client = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
    server.bind(name); client.sendto(b'hello', name); assert server.recv(5) == b'hello'

def pair():
    one, other = socket.socketpair(); one.sendall(b'x'); assert other.recv(1) == b'x'

def tcp6():
    server = socket.create_server(('::1', 0), family=socket.AF_INET6)
    socket.create_connection(server.getsockname()[:2]).close()

def udp():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(('127.0.0.1', 0))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', server.getsockname()); assert server.recv(1) == b'x'

async def child():
    process = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    out, _ = await process.communicate(b'hello'); assert out == b'hello' and process.returncode == 0
    server = await asyncio.start_unix_server(lambda r, w: w.close(), 'aio.sock'); server.close()

def subprocesses(): asyncio.run(child())

def temporary():
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as dir:
        file.write(b'x'); open(dir + '/x', 'w').close(); assert tempfile.gettempdir() == os.environ['TMPDIR']

def database():
    with sqlite3.connect('data.db') as data:
        data.execute('pragma journal_mode=wal'); data.execute('create table t (a)'); data.execute('insert into t values (1)')
    assert sqlite3.connect('data.db').execute('select a from t').fetchall() == [(1,)]

def locked():
    with open('lock', 'w') as file: fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)

def signals():
    caught = []
    signal.signal(signal.SIGALRM, lambda *rest: caught.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
    assert caught

def groups():
    child = subprocess.Popen(['sleep', '60'], start_new_session=True); os.killpg(child.pid, signal.SIGTERM)
    assert child.wait(30) == -signal.SIGTERM

def inherited():
    ours, theirs = os.pipe(); child = os.fork()
    if child == 0: os.write(theirs, b'x'); os._exit(0)
    assert os.read(ours, 1) == b'x' and os.waitpid(child, 0)[1] == 0

if __name__ == '__main__': globals()[sys.argv[1]]()
";

const OF_PYTHON: &[Work] = &[
    ("a pool", "python3", "python3 check.py pool"),
    ("a pool of new interpreters", "python3", "python3 check.py spawn"),
    ("an executor", "python3", "python3 check.py executor"),
    ("a queue, a lock and a value", "python3", "python3 check.py queue"),
    ("a manager", "python3", "python3 check.py manager"),
    ("shared memory", "python3", "python3 check.py shared"),
    ("threads", "python3", "python3 check.py threads"),
    ("a terminal", "python3", "python3 check.py terminal"),
    ("a socket in the workspace", "python3", "python3 check.py unix_here"),
    ("a socket in TMPDIR", "python3", "python3 check.py unix_temporary"),
    ("datagrams in TMPDIR", "python3", "python3 check.py unix_datagram"),
    ("a pair of sockets", "python3", "python3 check.py pair"),
    ("datagrams on loopback", "python3", "python3 check.py udp"),
    ("asyncio and subprocesses", "python3", "python3 check.py subprocesses"),
    ("temporary files", "python3", "python3 check.py temporary"),
    ("a database", "python3", "python3 check.py database"),
    (
        "a database by its shell",
        "sqlite3",
        "sqlite3 s.db 'create table t (a); insert into t values (1); select a from t;' | grep -q 1",
    ),
    ("locks of a file", "python3", "python3 check.py locked"),
    ("a timer", "python3", "python3 check.py signals"),
    ("a group of processes", "python3", "python3 check.py groups"),
    ("a fork and a pipe", "python3", "python3 check.py inherited"),
];

#[test]
fn python_does_several_things_at_once() {
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("work/check.py", PYTHON);
        works(&field, OF_PYTHON, &[]);
        if field.reaches("{tcp6}") {
            works(&field, &[("IPv6 on loopback", "python3", "python3 check.py tcp6")], &[]);
        }
    });
}

const NODE: &str = "const assert = require('node:assert'), http = require('node:http'), net = require('node:net');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const cluster = require('node:cluster'), child = require('node:child_process');
const checks = {
  worker() { new Worker(__filename).on('message', (word) => assert.equal(word, 'hello')); },
  cluster() {
    if (cluster.isPrimary) {
      cluster.fork().on('listening', ({ port }, worker = Object.values(cluster.workers)[0]) => http.get({ port, host: '127.0.0.1' },
        (reply) => { assert.equal(reply.statusCode, 200); worker.kill(); }));
    } else http.createServer((request, reply) => reply.end('hello')).listen(0, '127.0.0.1');
  },
  spawn() { assert.equal(child.spawnSync('cat', { input: 'hello' }).stdout.toString(), 'hello'); },
  fork() {
    if (process.send) return process.send('hello');
    const forked = child.fork(__filename, ['fork']);
    forked.on('message', (word) => { assert.equal(word, 'hello'); });
    forked.on('exit', (code) => assert.equal(code, 0));
  },
  socket() {
    const server = net.createServer((visitor) => visitor.end('hello')).listen('node.sock', () =>
      net.connect('node.sock').on('data', (word) => { assert.equal(word.toString(), 'hello'); server.close(); }));
  },
  page() {
    const server = http.createServer((request, reply) => reply.end('hello')).listen(0, 'localhost', async () => {
      const reply = await fetch(`http://localhost:${server.address().port}/`);
      assert.equal(await reply.text(), 'hello');
      server.close(); server.closeAllConnections();
    });
  },
};
process.on('unhandledRejection', (error) => { console.error(error); process.exit(1); });
if (isMainThread) checks[process.argv[2]](); else parentPort.postMessage('hello');
";

const OF_NODE: &[Work] = &[
    ("a worker", "node", "node check.js worker"),
    ("a cluster", "node", "timeout 60 node check.js cluster"),
    ("a child", "node", "node check.js spawn"),
    ("a fork that talks", "node", "timeout 60 node check.js fork"),
    ("a socket in the workspace", "node", "timeout 60 node check.js socket"),
    ("a server and fetch", "node", "timeout 60 node check.js page"),
];

#[test]
fn node_does_several_things_at_once() {
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("work/check.js", NODE);
        works(&field, OF_NODE, &[]);
    });
}
