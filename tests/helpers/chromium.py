"""A real browser: a page's own script looks at pages and sends what it has seen."""

import functools
import json
import queue
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

# Before a page's own scripts: what goes wrong is kept, what is not found as well.
ERRORS = """<script>
var errors = []; // also as frame.contentWindow.errors
addEventListener("error", e => errors.push(e.message || `not loaded: ${e.target.outerHTML}`), true);
addEventListener("unhandledrejection", e => errors.push(String(e.reason)));
addEventListener("securitypolicyviolation", e => errors.push(e.blockedURI));
console.error = (...said) => errors.push(said.join(" "));
</script><style>* { transition: none !important }</style>"""


def chromium(profile: Path, *options: str) -> list[str]:
    """Return the command of a browser without a network, or skip the test."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("there is no Chromium or Chrome to look at the page")
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    return [browser, *fixed, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", *options]


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder with the script above, and the page at ``/drive`` that is driven."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if self.path == "/drive":
            page = self.server.driver
        elif path.suffix == ".html" and path.is_file():
            page = path.read_text().replace("<head>", f"<head>{ERRORS}", 1)
        else:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        return self.wfile.write(page.encode())

    def do_POST(self):
        said = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.seen.put(json.loads(said))

    def log_message(self, *_):
        pass


def driven(folder: Path, script: str, given: object, seconds: float):
    """Return what ``look(given)`` of a script returns, in a browser that stays without a network.

    The script has ``frame``, in which ``await visit(page)`` opens a page of the folder.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    server.seen = queue.Queue()
    server.driver = f"""<!doctype html><iframe width="1280" height="900" style="border: 0"></iframe>
    <script>
    const frame = document.querySelector("iframe");
    const visit = page => new Promise(done => {{ frame.onload = done; frame.src = page; }});
    {script}
    look({json.dumps(given)}).catch(error => [String(error.stack)]).then(
      seen => fetch("/seen", {{method: "POST", body: JSON.stringify(seen)}}));
    </script>"""
    address = f"http://127.0.0.1:{server.server_port}/drive"
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, server:
        command = chromium(profile, "--window-size=1400,1000", "--hide-scrollbars", address)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return server.seen.get(timeout=seconds)
        finally:
            browser.terminate()
            browser.wait(timeout=30)
            server.shutdown()
