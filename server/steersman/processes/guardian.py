"""A small process that runs one command and outlives neither it nor the server. POSIX, standard library only.

The server starts it by path (`python -I -S guardian.py`), so it must never import anything of the package.
Its stdin is the lifeline: first the request, then orders of one byte; when it ends, the server is gone.
Its stdout is the command's stdout and stderr, its stderr is the report: lines of ASCII words.

Request: the byte length of the body and a newline, then the body: NUL-separated grace in seconds, stop
signal, working directory, number of arguments, the arguments, `NAME=value` of the whole environment.
Orders: `T` ends the tree (the stop signal, after the grace KILL); anything unknown is taken for it.
Report: `failed chdir|exec|fork ERRNO` · `stopped` (ended before its own end) · `exited CODE` or
`signalled NUMBER` · `left COUNT` (processes that even KILL did not end) · `gone`, always the last.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

LIFELINE, OUTPUT, REPORT = 0, 1, 2
SHORT_GRACE = 0.5
"""Seconds between TERM and KILL when nobody waits: the server is gone, or the command has ended itself."""
GIVE_UP = 2.0
"""Seconds after which processes that KILL does not end (another user's, stuck in a system call) are left."""
POLL_SECONDS = 0.01
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
INHERITED_IGNORES = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGCHLD")


class Request:
    """What to run. Everything stays in bytes: no locale can change an argument."""

    def __init__(self, body: bytes) -> None:
        grace, stop, self.cwd, count, *rest = body.split(b"\0")
        self.grace = float(grace)
        self.stop_signal = int(stop)
        self.argv = rest[: int(count)]
        pairs = (pair.partition(b"=") for pair in rest[int(count) :])
        self.env = {name: value for name, _, value in pairs}


def read_request() -> Request | None:
    """The request, or None when the server went away before it was whole."""
    received = b""
    while b"\n" not in received:
        piece = os.read(LIFELINE, 64)
        if not piece:
            return None
        received += piece
    length, _, first = received.partition(b"\n")
    body = bytearray(first)
    while len(body) < int(length):
        piece = os.read(LIFELINE, min(int(length) - len(body), 1 << 20))
        if not piece:
            return None
        body += piece
    return Request(bytes(body))


def report(*words: object) -> None:
    try:
        os.write(REPORT, " ".join(map(str, words)).encode("ascii") + b"\n")
    except OSError:
        return  # nobody reads it any more; the tree must end all the same


def prctl(option: int, value: int) -> bool:
    """Whether it worked: on Linux, unless it is forbidden. Elsewhere the process group has to be enough."""
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


class Tree:
    """Everything that the command started. On Linux orphans come back to the guardian, their subreaper."""

    def __init__(self, main: int, *, adopts: bool) -> None:
        self.main = main
        self.status: int | None = None
        self._adopts = adopts

    def reap(self) -> bool:
        """Collect what has ended. Returns whether any child is left, and so whether any descendant is."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self._adopts and self._group_lives()
            if pid == 0:
                return True
            if pid == self.main:
                self.status = status

    def signal(self, number: int) -> None:
        """Send a signal once to every process of the tree, also to those that left the group."""
        if not self._adopts:
            self.signal_group(number)
            return
        for pid in descendants(os.getpid()):
            send(pid, number)

    def signal_group(self, number: int) -> None:
        try:
            os.killpg(self.main, number)
        except OSError:
            return  # the group is empty, or the rest of it is another user's

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.main, 0)
        except OSError:
            return False
        return True


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # it ended by itself, or it is another user's


def descendants(root: int) -> list[int]:
    """The living descendants of a process, by the parents that `/proc` tells; empty without `/proc`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:  # noqa: PTH112, PTH208
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib doubles the start-up time
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in b"ZX":
            children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


class Orders:
    """The server's orders, and the wake-ups of SIGCHLD and SIGTERM, in one place to wait."""

    def __init__(self) -> None:
        self._wake, wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_term)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        self._poll.register(LIFELINE, select.POLLIN)
        self.stop = False
        self.orphaned = False

    def _on_term(self, *_: object) -> None:
        self.stop = True

    def wait(self, seconds: float | None) -> None:
        """Until something happens, or for so many seconds."""
        for fd, _ in self._poll.poll(None if seconds is None else seconds * 1000):
            if fd == self._wake:
                os.read(self._wake, 512)
            elif os.read(LIFELINE, 64):
                self.stop = True
            else:
                self.stop = self.orphaned = True
                self._poll.unregister(LIFELINE)


def spawn(request: Request) -> int | None:
    """Start the command in a session of its own. None, and a report, if that failed."""
    trouble, trouble_end = os.pipe()
    try:
        pid = os.fork()
    except OSError as problem:
        report("failed fork", problem.errno)
        return None
    if pid == 0:
        become(request, trouble_end)
    os.close(trouble_end)
    told = os.read(trouble, 64)
    os.close(trouble)
    if told:
        os.waitpid(pid, 0)
        report("failed", told.decode("ascii"))
        return None
    return pid


def become(request: Request, trouble_end: int) -> None:
    """In the child: turn into the command. Never returns."""
    stage = "exec"
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for name in INHERITED_IGNORES:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, LIFELINE)
        os.dup2(OUTPUT, REPORT)
        stage = "chdir"
        os.chdir(request.cwd)
        stage = "exec"
        os.execvpe(request.argv[0], request.argv, request.env)  # noqa: S606 - no shell is what is wanted
    except OSError as problem:
        os.write(trouble_end, f"{stage} {problem.errno}".encode("ascii"))
    finally:
        os._exit(127)


def end(tree: Tree, orders: Orders, grace: float, stop_signal: int) -> int:
    """End the whole tree and return how many processes are left: 0, but for another user's or stuck ones."""
    if stop_signal == signal.SIGINT:
        tree.signal_group(signal.SIGINT)  # as a terminal does: the command itself tells its helpers
    else:
        tree.signal(stop_signal)
    tree.signal(signal.SIGCONT)  # a stopped process hears nothing but KILL
    deadline = time.monotonic() + grace
    main_lived = tree.status is None
    while tree.reap():
        now = time.monotonic()
        if main_lived and tree.status is not None:
            main_lived = False
            deadline = min(deadline, now + SHORT_GRACE)
            if stop_signal != signal.SIGTERM:
                tree.signal(signal.SIGTERM)
        if orders.orphaned:
            deadline = min(deadline, now + SHORT_GRACE)
        if now >= deadline + GIVE_UP:
            return max(1, len(descendants(os.getpid())))
        if now >= deadline:
            tree.signal(signal.SIGKILL)
        orders.wait(POLL_SECONDS)
    return 0


def run(request: Request) -> None:
    adopts = prctl(PR_SET_CHILD_SUBREAPER, 1)
    orders = Orders()
    main = spawn(request)
    os.dup2(os.open(os.devnull, os.O_WRONLY), OUTPUT)  # only the tree holds the output now
    if main is None:
        return
    tree = Tree(main, adopts=adopts)
    lives = True
    while lives and tree.status is None and not orders.stop:
        orders.wait(None)
        lives = tree.reap()
    grace, stop_signal = request.grace, request.stop_signal
    if tree.status is None:
        report("stopped")
    else:
        grace, stop_signal = min(grace, SHORT_GRACE), int(signal.SIGTERM)
    left = end(tree, orders, grace, stop_signal) if lives else 0
    if tree.status is not None:
        code = os.waitstatus_to_exitcode(tree.status)
        report("exited" if code >= 0 else "signalled", abs(code))
    if left:
        report("left", left)


def main() -> None:
    request = read_request()
    if request is not None:
        run(request)
        report("gone")


if __name__ == "__main__":
    main()
