"""Runs inside a guest: keeps a random pattern and a counter in memory only, and answers questions about them.

    pattern.py serve SOCKET PAGES     serve until killed; the counter goes up ten times a second
    pattern.py ask SOCKET QUESTION    print the answer, one JSON document

Questions: `state` (pid, counter, digest of the whole pattern), `blocks` (the same and a short digest of each
page-sized block), `scramble` (make a new pattern, then as `blocks`), `quit`.
"""

import hashlib
import json
import os
import socket
import sys
import threading
import time

PAGE = 4096


class Keeper:
    def __init__(self, pages: int) -> None:
        self.memory = bytearray(os.urandom(pages * PAGE))
        self.counter = 0

    def count(self) -> None:
        while True:
            time.sleep(0.1)
            self.counter += 1

    def answer(self, question: str) -> object:
        view = memoryview(self.memory)
        if question == "quit":
            os._exit(0)
        if question == "scramble":
            self.memory[:] = os.urandom(len(self.memory))
        state = {"pid": os.getpid(), "counter": self.counter, "digest": hashlib.sha256(view).hexdigest()}
        if question in ("blocks", "scramble"):
            state["blocks"] = [hashlib.md5(view[i : i + PAGE]).hexdigest()[:8] for i in range(0, len(view), PAGE)]
        return state


def serve(path: str, pages: int) -> None:
    keeper = Keeper(pages)
    threading.Thread(target=keeper.count, daemon=True).start()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        while True:
            connection, _ = listener.accept()
            with connection:
                question = connection.makefile().readline().strip()
                connection.sendall(json.dumps(keeper.answer(question)).encode())


def ask(path: str, question: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(question.encode() + b"\n")
        connection.shutdown(socket.SHUT_WR)
        print(connection.makefile().read())


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        ask(sys.argv[2], sys.argv[3])
