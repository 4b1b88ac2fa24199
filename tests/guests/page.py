"""A web app for a guest whose page counts in the server's memory, with a stream of events and a WebSocket.

It is one file with Python's own library only. The page shows what comes by each way, and how often each was opened.
"""

from __future__ import annotations

from tests.lab import Daemon

HTML = """<!doctype html><title>counter</title>
<button id=more>more</button> <b id=count></b> <b id=events></b> <b id=socket></b>
<script>
const show = (id, text) => document.getElementById(id).textContent = text
window.opened = {events: 0, socket: 0}
window.answers = []
document.getElementById('more').onclick = async () =>
  show('count', await (await fetch('/more', {method: 'POST'})).text())
const events = new EventSource('/events')  // comes again by itself, but never after an answer like 502
events.onopen = () => opened.events++
events.onmessage = event => show('events', event.data)
const connect = () => {
  const socket = new WebSocket(`wss://${location.host}/socket`)
  socket.onopen = () => opened.socket++
  socket.onmessage = event => show('socket', event.data)
  socket.onclose = () => setTimeout(connect, 20)
}
connect()
window.poll = async () => {
  while (window.polling) {
    try { answers.push((await fetch('/count')).status) } catch (error) { answers.push(String(error)) }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
fetch('/count').then(answer => answer.text()).then(text => show('count', text))
</script>
"""

APP = (
    """
import base64, hashlib, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HTML = '''"""
    + HTML
    + """'''

class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        if self.path == "/events":
            self.stream("text/event-stream", lambda: f"retry: 20\\ndata: {App.count}\\n\\n".encode())
        elif self.path == "/socket":
            self.socket()
        else:
            self.say(str(App.count) if self.path == "/count" else HTML)

    def do_POST(self):
        App.count += 1
        self.say(str(App.count))

    def say(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def stream(self, kind, piece):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.repeat(piece)

    def socket(self):
        self.close_connection = True
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.repeat(lambda: bytes([0x81, len(str(App.count))]) + str(App.count).encode())

    def repeat(self, piece):
        try:
            while True:
                self.wfile.write(piece())
                self.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass

    def log_message(self, *arguments):
        pass

ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"""
)


def start(daemon: Daemon, port: int) -> None:
    """Start the app in the guest, and wait until it listens."""
    daemon.sh(f"cat > page.py <<'END'\n{APP}\nEND\nsetsid python3 page.py {port} >/dev/null 2>&1 &")
    daemon.sh(f"while ! ss -ltn | grep -q :{port}; do sleep 0.2; done")
