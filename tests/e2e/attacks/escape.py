"""Leaves processes behind in eight ways, each called as the first argument says; then waits as long as the second says."""
import ctypes, os, signal, sys, threading, time

MARK, WAIT = sys.argv[1], float(sys.argv[2])
c = ctypes.CDLL(None, use_errno=True)
c.prctl(15, MARK.encode(), 0, 0, 0)  # PR_SET_NAME


def live():
    for deaf in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(deaf, signal.SIG_IGN)
    while True:
        time.sleep(60)


def fork(child):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(0)
    return pid


def dead_leader():
    """The first thread ends; another lives on in what looks like a zombie."""
    for deaf in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(deaf, signal.SIG_IGN)
    threading.Thread(target=lambda: time.sleep(10000)).start()
    os.setsid()
    c.syscall(60, 0)  # exit, of this thread alone


def chain():
    """Always a new process, never the same for long."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        time.sleep(0.01)
    live()


def double():
    os.setsid()
    fork(live)


def session():
    os.setsid()
    live()


def namespace():
    """Refused, or not: it goes on."""
    c.unshare(0x10000000 | 0x20000000)
    fork(live)
    live()


def stopped():
    fork(lambda: os.kill(os.getpid(), signal.SIGSTOP) or live())
    os.kill(os.getpid(), signal.SIGSTOP)
    live()


def traced():
    child = fork(live)
    c.ptrace(16, child, 0, 0)
    live()


def storm():
    def breed():
        while True:
            try:
                threading.Thread(target=lambda: time.sleep(0.05)).start()
            except RuntimeError:
                pass
            time.sleep(0.005)

    for _ in range(8):
        threading.Thread(target=breed, daemon=True).start()
    live()


for kind in (dead_leader, chain, double, session, namespace, stopped, traced, storm):
    fork(kind)
print("loose", flush=True)
time.sleep(WAIT)
