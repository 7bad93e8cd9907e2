"""The page as a browser on another machine sees it: over TLS, with a password."""

import subprocess

from process import free_port

PASSWORD = "correct horse battery"


def test_a_browser_logs_in_with_the_password(page, module_lab):
    agent, port = module_lab.agent("nas"), free_port()
    result = subprocess.run(agent.command("ui", "--set-password"), input=PASSWORD.encode(), capture_output=True,
                            env=agent.environment, timeout=60)
    assert result.returncode == 0, result.stderr
    agent.run("config", "set", "http.network", "true")
    agent.run("config", "set", "http.listen", f"0.0.0.0:{port}")
    agent.stop()
    agent.start()
    # The warning of the browser about the certificate, which the user reads and passes.
    page.trust_certificates(True)
    try:
        page.driver.get(f"http://127.0.0.1:{port}/")
        page.wait(lambda: page.has("#password"), "the password is asked for")
        assert page.script("return location.href").startswith(f"https://127.0.0.1:{port}/")
        assert page.script("return document.activeElement.id") == "password"
        page.find("#password").send_keys("something else")
        page.find("form.password button").click()
        page.wait_text("form.password [role=alert]", "Wrong password.")
        page.screenshot("password")
        page.find("#password").send_keys(PASSWORD)
        page.find("form.password button").click()
        page.wait(lambda: not page.has("#password"), "it is logged in")
        page.wait_text("#state", "0 of 0 devices connected")
        assert page.script("return document.cookie") == "", "no script sees the cookie"
        page.driver.refresh()
        page.wait_text("#state", "0 of 0 devices connected")
    finally:
        page.driver.get("about:blank")
        # Of the wrong password, and of requests before the right one.
        page.complaints()
        page.trust_certificates(False)
