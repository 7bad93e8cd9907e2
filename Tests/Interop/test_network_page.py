"""The page at an address that other machines reach: real HTTPS, a password, and never by accident."""

import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import warnings

import pytest
from process import free_port

PASSWORD = "correct horse ü"


def set_password(agent, password, expect=0):
    result = subprocess.run(agent.command("ui", "--set-password"), input=password.encode() + b"\n",
                            capture_output=True, env=agent.environment, timeout=60, cwd="/")
    assert result.returncode == expect, result
    return result.stdout.decode() + result.stderr.decode()


class Browser:
    """A browser on another machine that trusts one certificate."""

    def __init__(self, port, fingerprint, host="127.0.0.1"):
        self.port, self.fingerprint, self.host, self.cookie = port, fingerprint, host, None

    def ask(self, method, target, body=None, source=None, **headers):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context,
                                                 source_address=source and (source, 0))
        try:
            connection.connect()
            certificate = hashlib.sha256(connection.sock.getpeercert(True)).hexdigest()
            assert certificate == self.fingerprint.replace(":", "").lower()
            assert connection.sock.version() in ("TLSv1.2", "TLSv1.3")
            fields = {"Host": f"{self.host}:{self.port}"}
            if self.cookie:
                fields["Cookie"] = self.cookie
            if method not in ("GET", "HEAD"):
                fields |= {"Origin": f"https://{self.host}:{self.port}", "X-Synctrain": "page", "Sec-Fetch-Site": "same-origin"}
            fields |= {name.replace("_", "-"): value for name, value in headers.items()}
            data = None if body is None else json.dumps(body)
            connection.request(method, target, data, {k: v for k, v in fields.items() if v is not None})
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def log_in(self, password, source=None, **headers):
        answer, body = self.ask("POST", "/login", {"password": password}, source, **headers)
        if answer.status == 200:
            field = answer.headers["Set-Cookie"]
            assert "; Secure; HttpOnly; SameSite=Strict" in field and field.startswith("__Host-synctrain-")
            self.cookie = field.split(";")[0]
        return answer.status, json.loads(body)


def restart(agent):
    agent.stop()
    agent.start()


@pytest.fixture(scope="module")
def nas(module_lab):
    agent, port = module_lab.agent(), free_port()
    # What is refused, and what it says to do, in the order in which somebody tries it.
    address = f"0.0.0.0:{port}"
    refused = agent.try_run("config", "set", "http.listen", address)
    assert refused.returncode != 0 and b"synctrain ui --set-password" in refused.stderr
    agent.run("config", "set", "http.network", "true")
    refused = agent.try_run("config", "set", "http.listen", address)
    assert refused.returncode != 0 and b"synctrain ui --set-password" in refused.stderr
    assert "at least 10 characters" in set_password(agent, "short", expect=64)
    assert "The password is set" in set_password(agent, PASSWORD)
    assert stat.S_IMODE(os.stat(agent.file("http.password")).st_mode) == 0o600
    with open(agent.file("http.password")) as file:
        assert "horse" not in file.read()
    agent.run("config", "set", "http.listen", address)
    restart(agent)
    return agent, port


def browser(nas, host="127.0.0.1"):
    agent, port = nas
    return Browser(port, agent.status()["httpFingerprint"], host)


def test_the_password_lets_in(nas):
    agent, port = nas
    status = agent.status()
    assert status["http"] == f"https://{socket.gethostname().lower()}:{port}" and not status["problems"]
    assert re.fullmatch("(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", status["httpFingerprint"])
    assert stat.S_IMODE(os.stat(agent.file("http.pem")).st_mode) == 0o600
    assert status["httpFingerprint"] in agent.run("status").stdout.decode()
    other = browser(nas)
    answer, body = other.ask("GET", "/")
    assert answer.status == 200 and b"<title>" in body
    assert other.ask("GET", "/v1/status")[0].status == 401
    assert other.log_in("something else")[0] == 403 and other.cookie is None
    assert other.log_in(PASSWORD) == (200, {"schema": 1})
    answer, body = other.ask("GET", "/v1/status")
    assert answer.status == 200 and json.loads(body)["device"] == agent.id
    assert other.ask("POST", "/v1/sync", {})[0].status == 200
    # Under the machine's own name, but no other.
    named = browser(nas, socket.gethostname().lower())
    assert named.log_in(PASSWORD)[0] == 200
    assert browser(nas, "evil.example").ask("GET", "/")[0].status == 403
    # The password is set on the machine itself alone.
    assert other.ask("POST", "/v1/password", {"password": "another password"})[0].status == 403
    assert other.ask("POST", "/v1/sessions", {})[0].status == 403
    # The link of `ui` works, too.
    opened = json.loads(agent.run("ui", "--no-open", "--json").stdout)
    assert opened["fingerprint"] == status["httpFingerprint"] and opened["url"].startswith("https://")
    answer, _ = browser(nas).ask("GET", opened["url"].split(str(port))[1])
    assert answer.status == 303 and answer.headers["Set-Cookie"].startswith(f"__Host-synctrain-{port}=")


@pytest.mark.parametrize("headers", [
    {"Origin": None}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"X_Synctrain": None},
    {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "cross-site"}])
def test_other_sites_do_not_log_in(nas, headers):
    other = browser(nas)
    status, error = other.log_in(PASSWORD, **headers)
    assert status == 403 and error["code"] == "no-permission" and other.cookie is None


def test_without_tls_one_is_sent_there(nas):
    agent, port = nas

    def ask(target, host=f"127.0.0.1:{port}", method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, target, headers={"Host": host})
        answer = connection.getresponse()
        return answer, answer.read()
    answer, _ = ask("/")
    assert answer.status == 307 and answer.headers["Location"] == f"https://127.0.0.1:{port}/"
    for target in ("/v1/status", "/login?token=x", "/page/app.js"):
        answer, body = ask(target)
        assert answer.status == 400 and f"https://127.0.0.1:{port}/" in json.loads(body)["message"]
    assert ask("/", host="evil.example")[0].status == 400
    # Neither HTTP nor TLS, and an old TLS.
    with socket.create_connection(("127.0.0.1", port), 60) as raw:
        raw.sendall(b"\x16\x03\x01\x00\x05hello")
        while raw.recv(100):
            pass
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), 60) as raw:
        old.wrap_socket(raw)
    assert agent.status()["device"] == agent.id


def test_sessions_survive_a_restart_and_end_with_the_password(nas):
    agent, port = nas
    other = browser(nas)
    assert other.log_in(PASSWORD)[0] == 200
    before = agent.status()["httpFingerprint"]
    restart(agent)
    assert agent.status()["httpFingerprint"] == before, "the certificate is made once"
    answer, _ = other.ask("GET", "/v1/status")
    assert answer.status == 200
    other.cookie = answer.headers.get("Set-Cookie", other.cookie).split(";")[0]
    assert "logged out" in set_password(agent, "battery staple")
    assert other.ask("GET", "/v1/status")[0].status == 401
    assert other.log_in(PASSWORD)[0] == 403
    assert other.log_in("battery staple")[0] == 200
    set_password(agent, PASSWORD)
    restart(agent)


def test_guessing_is_slowed_down(nas):
    assert [browser(nas).log_in(f"guess {number}", source="127.0.0.9")[0] for number in range(5)] == [403] * 5
    # On a machine that is slow the wait may be over before it is asked again; the next one is twice as long.
    for number in range(10):
        status, error = browser(nas).log_in("another guess", source="127.0.0.9")
        if status == 429 and browser(nas).log_in(PASSWORD, source="127.0.0.9")[0] == 429:
            break
    else:
        pytest.fail("nobody had to wait")
    assert error["code"] == "login-blocked" and error["retryable"] and "Try again in" in error["message"]
    # From elsewhere it is good.
    assert browser(nas).log_in(PASSWORD, source="127.0.0.10")[0] == 200


def test_doctor_says_that_it_is_reached(nas):
    agent, port = nas
    findings = json.loads(agent.try_run("doctor", "--json").stdout)["findings"]
    found = [finding for finding in findings if finding["code"] == "page-reached"]
    assert len(found) == 1 and found[0]["state"] == "note" and f":{port}" in found[0]["message"]


def test_a_certificate_of_ones_own(nas, tmp_path):
    agent, port = nas
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                    "-subj", "/CN=nas.example.org", "-keyout", tmp_path / "k.pem", "-out", tmp_path / "c.pem"],
                   check=True, capture_output=True)
    own = agent.status()["httpFingerprint"]
    agent.run("config", "set", "http.certificate", tmp_path / "c.pem")
    agent.run("config", "set", "http.certificate-key", tmp_path / "k.pem")
    restart(agent)
    der = subprocess.run(["openssl", "x509", "-in", tmp_path / "c.pem", "-outform", "DER"], capture_output=True, check=True)
    shown = agent.status()["httpFingerprint"]
    assert shown.replace(":", "").lower() == hashlib.sha256(der.stdout).hexdigest() != own
    assert browser(nas).ask("GET", "/")[0].status == 200
    # What cannot be used closes the page and nothing else.
    (tmp_path / "k.pem").write_text("no key")
    restart(agent)
    status = agent.status()
    assert "http" not in status and "certificate" in status["problems"][0]
    agent.run("config", "unset", "http.certificate")
    agent.run("config", "unset", "http.certificate-key")
    restart(agent)
    assert agent.status()["httpFingerprint"] == own


def test_without_its_password_it_is_closed(nas):
    agent, port = nas
    os.chmod(agent.file("http.password"), 0o644)
    restart(agent)
    status = agent.status()
    assert "http" not in status and "synctrain ui --set-password" in status["problems"][0]
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 5)
    assert "Restart the agent" in set_password(agent, PASSWORD)
    restart(agent)
    assert browser(nas).log_in(PASSWORD)[0] == 200
