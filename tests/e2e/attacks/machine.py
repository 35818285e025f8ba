"""What else runs on a machine, as the same user: servers, memory that is shared, messages that wait, and this process itself.

Prints where all of it is, as one line of JSON. To each line of its input it answers by what it noticed until then; at the end of
the input it takes everything away.
"""
import ctypes, json, os, resource, socket, struct, sys, threading

PLACE, SEEN, SECRET = sys.argv[1:4]
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_void_p
NAME = "uwf-attacks-%d" % os.getpid()
VISITS = []


def bind(kind, path, listening=True):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path)
    if not path.startswith("\0"):
        os.chmod(path, 0o777)
    if listening:
        server.listen(8)

    def visit():
        while True:
            if listening:
                server.accept()[0].close()
            else:
                server.recv(64)
            VISITS.append(path)

    threading.Thread(target=visit, daemon=True).start()
    return path


def memory():
    """A segment, a queue and semaphores of System V."""
    text = SECRET.encode()
    segment = c.shmget(os.getpid(), 4096, 0o1666)
    ctypes.memmove(c.shmat(segment, None, 0), text, len(text))
    queue = c.msgget(os.getpid(), 0o1666)
    c.msgsnd(queue, struct.pack("l", 1) + text, len(text), 0)
    return segment, queue, c.semget(os.getpid(), 1, 0o1666)


def posix_queue():
    handle = c.mq_open(("/" + NAME).encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666, None)
    c.mq_send(handle, SECRET.encode(), len(SECRET), 0)
    return handle


with open("/dev/shm/" + NAME, "w") as shared:
    shared.write(SECRET)
segment, queue, semaphores = memory()
handle = posix_queue()
os.makedirs(PLACE + "/tmux-0")
bind(socket.SOCK_STREAM, PLACE + "/tmux-0/default")
os.chdir(SEEN)
where = {
    "victim": os.getpid(),
    "shared": NAME,
    "segment": segment,
    "queue": queue,
    "semaphores": semaphores,
    "tmux": PLACE + "/tmux-0/default",
    "datagram": bind(socket.SOCK_DGRAM, PLACE + "/datagram", False),
    "packets": bind(socket.SOCK_SEQPACKET, PLACE + "/packets"),
    "listening": bind(socket.SOCK_STREAM, SEEN + "/listening"),
    "taking": bind(socket.SOCK_DGRAM, SEEN + "/taking", False),
    "relative": SEEN + "/" + bind(socket.SOCK_STREAM, "relative"),
    "nameless": bind(socket.SOCK_DGRAM, "\0" + NAME, False)[1:],
}
print(json.dumps(where), flush=True)
for _ in sys.stdin:
    noticed = {
        "visits": VISITS,
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": len(os.sched_getaffinity(0)),
        "policy": os.sched_getscheduler(0),
        "io": c.syscall(252, 1, 0) if os.uname().machine == "x86_64" else 0,
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "segments": c.shmget(os.getpid(), 0, 0) == segment,
        "queues": c.msgget(os.getpid(), 0) == queue,
        "semaphores": c.semctl(semaphores, 0, 12, 0),
        "shared": open("/dev/shm/" + NAME).read(),
    }
    print(json.dumps(noticed), flush=True)
c.shmctl(segment, 0, None)
c.msgctl(queue, 0, None)
c.semctl(semaphores, 0, 0, 0)
c.mq_unlink(("/" + NAME).encode())
os.unlink("/dev/shm/" + NAME)
