"""Pages of others, in the browser that is logged in: of another port of this machine, which has the same cookies, and of `synctrain serve`."""

import http.server
import os
import subprocess
import threading

import pytest
from page import Page

TRIES = """
    const [origin] = arguments, tries = {};
    const attempt = async (name, work) => { try { tries[name] = await work(); } catch (error) { tries[name] = 'refused'; } };
    const device = JSON.stringify({ id: 'P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2', name: 'stranger' });
    const own = { credentials: 'include' };
    await attempt('read', async () => (await fetch(origin + '/v1/status', own)).text());
    await attempt('events', () => new Promise((resolve, reject) => {
        const source = new EventSource(origin + '/v1/events', { withCredentials: true });
        source.onopen = () => resolve('open');
        source.onerror = () => { source.close(); reject(); };
    }));
    await attempt('change', async () => (await fetch(origin + '/v1/devices', { ...own, method: 'POST', body: device,
        headers: { 'X-Synctrain': 'page' } })).text());
    // These go out, as any page may send them; nobody may do what they say.
    await attempt('blind', async () => (await fetch(origin + '/v1/devices', { ...own, mode: 'no-cors', method: 'POST', body: device })).type);
    await attempt('stop', async () => (await fetch(origin + '/v1/stop', { ...own, mode: 'no-cors', method: 'POST' })).type);
    await attempt('form', () => new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.name = 'answer';
        document.body.append(frame);
        const form = Object.assign(document.createElement('form'), { method: 'post', action: origin + '/v1/stop', target: 'answer' });
        document.body.append(form);
        frame.onload = () => resolve('sent');
        form.submit();
    }));
    await attempt('picture', () => new Promise((resolve, reject) => {
        const image = document.createElement('img');
        image.onload = () => resolve('shown');
        image.onerror = reject;
        image.src = origin + '/v1/file?path=home:picture.png';
        document.body.append(image);
    }));
    await attempt('frame', () => new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = () => { try { resolve(frame.contentDocument ? 'read' : 'closed'); } catch { resolve('closed'); } };
        frame.src = origin + '/';
        document.body.append(frame);
    }));
    return tries;
"""
# A picture of one point.
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0000003010100"
    "18dd8db00000000049454e44ae426082")


class Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>A stranger</title><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def agent(module_lab):
    agent = module_lab.agent()
    path = module_lab.directory("home")
    with open(os.path.join(path, "picture.png"), "wb") as file:
        file.write(PICTURE)
    with open(os.path.join(path, "index.html"), "w") as file:
        file.write("<!doctype html><title>A site</title><body>")
    agent.add_folder("home", path, mode="full")
    agent.run("scan", "home")
    return agent


@pytest.fixture(params=["another port", "serve"])
def stranger(request, agent):
    """The address of a page that is not the agent's."""
    if request.param == "serve":
        site = subprocess.Popen(
            [agent.program, "--home", agent.home, "serve", "home:"], env=agent.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        yield site.stdout.readline().decode().strip()
        site.terminate()
        site.wait(60)
        site.stdout.close()
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_page_of_others_can_do_nothing(page: Page, agent, stranger):
    page.log_in(agent)
    own = page.script_async("return (await fetch('/v1/status')).status")
    assert own == 200, "this browser is logged in"
    page.driver.get(stranger)
    tries = page.script_async(TRIES, page.origin)
    page.complaints()  # of each refusal
    assert tries == dict.fromkeys(("read", "events", "change", "blind", "stop", "picture"), "refused") | {
        "form": "sent", "frame": "closed"}
    assert agent.document("device", "list")["devices"] == []
    assert agent.document("status")["device"], "it runs"
