"""Compares the Python frames that hotpin reads with those that the interpreter itself reports.

    frames.py PROBE

It runs in the tested interpreter, which loads the probe.  The output is TAP.
"""

import asyncio
import ctypes
import marshal
import os
import sys
import threading

LOCKED = ctypes.PyDLL(sys.argv[1])  # the calls keep the interpreter lock
FREE = ctypes.CDLL(sys.argv[1])  # the calls release it
ROOM = 1 << 20
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def read(most, library):
    """Returns frames of this thread as (file, function, line), innermost first, without read()
    itself."""
    text = ctypes.create_string_buffer(ROOM)
    count = library.probe_frames(most + 1, text, ctypes.c_size_t(ROOM))
    lines = text.value.decode("utf-8", "replace").split("\n")[:-1]
    assert count == len(lines), (count, len(lines))
    frames = [tuple(line.split("\t")) for line in lines]
    assert frames[0][1] == "read", frames
    return [(file, function, int(line)) for file, function, line in frames[1:]]


def told(frame, most):
    frames = []
    while frame is not None and len(frames) < most:
        code = frame.f_code
        frames.append((code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno))
        frame = frame.f_back
    return frames


def look(most=64):
    """Compares both; returns the caller's frames."""
    for library in LOCKED, FREE:
        seen, expected = read(most, library)[1:], told(sys._getframe(1), most - 1)
        assert seen == expected, "\n# %r\n# not\n# %r" % (seen, expected)
    return seen


@test
def functions():
    def inner(depth):
        return inner(depth - 1) if depth else look()

    assert inner(5)[0][1].endswith("inner")
    assert len(inner(5)) >= 8
    return (lambda: look())()


@test
def few_of_many():
    def inner(depth):
        return inner(depth - 1) if depth else look(4)

    assert len(inner(100)) == 3


@test
def lines_of_one_expression():
    seen = [
        look()[0][2],
        (look()
         )[0][2],

        [look()
         for _ in range(1)][0][0][2],
    ]
    assert seen[0] < seen[1] < seen[2], seen


@test
def comprehensions():
    for seen in [look() for _ in range(3)], {look()[0] for _ in range(3)}, {1: look() for _ in range(2)}:
        assert seen


@test
def generators():
    def numbers():
        yield look()
        yield from (look() for _ in range(2))

    for _ in numbers():
        look()


@test
def coroutines():
    async def inner():
        look()
        await asyncio.sleep(0)
        look()

    async def outer():
        await asyncio.gather(inner(), inner())

    asyncio.run(outer())


@test
def methods_and_callbacks():
    class Thing:
        def __init__(self):
            self.seen = look()

        @property
        def value(self):
            return look()

        def __lt__(self, other):
            look()
            return False

    assert Thing().seen[0][1].endswith("__init__")
    assert Thing().value
    sorted([Thing(), Thing(), Thing()])
    list(map(lambda _: look(), range(2)))
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: len(look()))()


@test
def exceptions():
    try:
        raise ValueError
    except ValueError:
        look()
    finally:
        look()
    with open(os.devnull, encoding="ascii"):
        look()


@test
def texts_that_are_not_files():
    space = {"look": look}
    exec("look()", space)
    exec(compile("\n\nlook()", "/tmp/ipykernel_1/2.py", "exec"), space)
    exec(compile("def f\u00e9():\n look()\nf\u00e9()", "/tmp/caf\u00e9.py", "exec"), space)
    exec(compile("def \u6f22():\n look()\n\u6f22()", "/tmp/\u6f22.py", "exec"), space)
    exec(compile("look()", "/tmp/\U0001f40d.py", "exec"), space)


@test
def names_that_are_empty_or_contain_nul():
    def named(file, function):
        code = compile("seen = read()", "file", "exec")
        more = {"co_qualname": function} if hasattr(code, "co_qualname") else {}
        space = {"read": lambda: read(4, FREE)}
        exec(code.replace(co_filename=file, co_name=function, **more), space)
        return space["seen"][1:]

    here = named("file", "function")[1]
    for file, function, expected in (("", "f", ("<no name>", "f", 1)), ("f", "", ("f", "<no name>", 1)),
                                     ("\0a\0b", "f\0", ("\ufffda\ufffdb", "f\ufffd", 1)),
                                     ("\udce9.py", "f", ("\ufffd.py", "f", 1))):
        assert named(file, function)[:2] == [expected, here], (file, function, named(file, function))


@test
def long_names_are_cut():
    name = "n" * 300
    file = "/" + "d" * 700 + "/end.py"
    space = {"read": lambda: read(4, FREE)}
    exec(compile("def %s():\n global seen\n seen = read()\n%s()" % (name, name), file, "exec"), space)
    cut = space["seen"][1]
    assert cut[0].endswith("d/end.py") and len(cut[0]) > 400, cut
    assert name.startswith(cut[1]) and len(cut[1]) > 100, cut


@test
def long_functions():
    lines = ["def long():"]
    for i in range(700):
        lines.append(" x = %d; y = [x, (x,\n\n x)]" % i if i % 7 else " if x == -1:\n  return\n look()")
    space = {"look": look, "x": 0}
    exec(compile("\n".join(lines).replace("x == -1", "look is None"), "long.py", "exec"), space)
    space["long"]()


@test
def deep_recursion():
    def inner(depth):
        if depth:
            return inner(depth - 1)
        look(4)
        return len(read(15000, FREE))

    def run():
        result.append(inner(10000))

    result = []
    before = threading.stack_size(512 << 20)
    sys.setrecursionlimit(20000)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    threading.stack_size(before)
    sys.setrecursionlimit(1000)
    assert result and result[0] > 10000, result


@test
def threads():
    failed = []

    def body():
        try:
            for _ in range(20):
                look()
        except BaseException as error:  # reported below
            failed.append(error)

    for _ in range(3):
        group = [threading.Thread(target=body) for _ in range(8)]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
    assert not failed, failed[0]


@test
def a_tracer():
    sys.settrace(lambda *_: None)
    try:
        look()
    finally:
        sys.settrace(None)


@test
def code_in_the_place_of_other_code():
    space = {"changed": FREE.probe_changed}
    for i in range(50):
        exec(compile("\n" * i + "result = changed()", "file", "exec"), space)
        assert space["result"] == 1, i


@test
def code_in_the_place_of_code_with_other_lines():
    space = {"changed": FREE.probe_changed}
    codes = [marshal.dumps(compile("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n" + "\n" * i + "result = changed()",
                                   "file", "exec")) for i in range(15)]
    for i in range(100):
        # The objects that the code refers to are the same, or lie in the same places.
        exec(marshal.loads(codes[i % len(codes)]), space)
        assert space["result"] == 1, i


@test
def a_stack_that_changes_while_it_is_read():
    def shake(depth):
        return sum(shake(depth - 1) for _ in range(2)) if depth else 1

    if LOCKED.probe_watch() == 0:
        return "process_vm_readv is refused"
    FREE.probe_watched.restype = ctypes.c_ulong
    try:
        while FREE.probe_watched() <= 2000:
            space = {}
            exec("def f(n):\n return f(n - 1) if n else [i for i in range(9)]\nf(20)", space)
            shake(4)
    finally:
        FREE.probe_unwatch()
    return None


@test
def greenlets():
    try:
        import greenlet
    except ImportError:
        return "greenlet is not installed"

    def inner(depth):
        if depth:
            return inner(depth - 1)
        look()
        greenlet.getcurrent().parent.switch()
        return look()

    all_of_them = [greenlet.greenlet(inner) for _ in range(4)]
    for i, one in enumerate(all_of_them):
        one.switch(i * 10)
    look()
    for one in all_of_them:
        one.switch()
    return None


def main():
    print("1..%d" % len(TESTS))
    for number, function in enumerate(TESTS, 1):
        try:
            skipped = function()
            ending = " # SKIP " + skipped if isinstance(skipped, str) else ""
            print("ok %d - %s%s" % (number, function.__name__, ending))
        except AssertionError as error:
            print("not ok %d - %s\n# %s" % (number, function.__name__, str(error)[:2000]))


def outermost():
    main()


outermost()
