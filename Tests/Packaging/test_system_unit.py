"""The system unit, run by the systemd of a machine that is booted for it."""

import json
import os

# As docs/install.md says; sudo only changes the account.
FAILS = """
fails() { if "$@"; then return 1; fi; }
"""
FIRST_STEPS = FAILS + """
as() { setpriv --reuid=synctrain --regid=synctrain --init-groups env -i HOME=/var/lib/synctrain PATH="$PATH" LC_ALL=C.UTF-8 "$@"; }
answers() {
    for _ in $(seq 300); do as synctrain status --json >/root/status 2>/root/reason && return 0; sleep 0.1; done
    cat /root/reason; systemctl status synctrain; journalctl -u synctrain -n 20 --no-pager; return 1
}
as synctrain init --name nas --no-discovery --listen tcp://127.0.0.1:0
systemctl enable --now synctrain
answers
install -d -o synctrain -g synctrain /srv/library
as synctrain folder add library /srv/library --new --mode full
echo hello >/srv/library/a.txt
as synctrain scan library:
as synctrain wait library --timeout 60
as synctrain status --json >/root/status
"""


def test_it_runs_as_its_account_and_no_more(machine, package):
    machine.install(package)
    machine.boot(FIRST_STEPS + """
pid=$(systemctl show --property=MainPID --value synctrain)
stat -c %U /proc/$pid >/root/account
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$pid/status >/root/rights
fails nsenter --target $pid --mount touch /usr/here /etc/here
# What makes thumbnails is run in a sandbox that the unit must allow.
as synctrain doctor --json >/root/doctor || true
systemctl stop synctrain
fails as synctrain status
echo done
""")

    def read(name):
        with open(machine.path(f"/root/{name}")) as file:
            return file.read()

    assert read("account") == "synctrain\n"
    rights = dict(line.split(":\t") for line in read("rights").splitlines())
    assert (int(rights["CapEff"], 16), int(rights["CapBnd"], 16), rights["NoNewPrivs"], rights["Seccomp"]) == (0, 0, "1", "2")
    folder = json.loads(read("status"))["folders"][0]
    assert (folder["id"], folder["local"]["files"]) == ("library", 1)
    assert not os.path.lexists(machine.path("/usr/here"))
    if os.path.lexists(machine.path("/usr/bin/bwrap")):
        findings = json.loads(read("doctor"))
        assert "thumbnail" not in json.dumps([f for f in findings["findings"] if f["level"] in ("error", "warning")]), findings


def test_an_update_restarts_it_and_a_removal_stops_it(machine, package, newer):
    machine.install(package)
    machine.boot(FIRST_STEPS + f"""
first=$(systemctl show --property=MainPID --value synctrain)
dpkg --install {keep(machine, newer)}
second=$(systemctl show --property=MainPID --value synctrain)
[ "$first" != "$second" ]
answers
systemctl is-enabled synctrain
dpkg --purge synctrain
fails systemctl is-active synctrain
[ -s /var/lib/synctrain/.local/state/synctrain/key.pem ]
[ -s /srv/library/a.txt ]
echo done
""")


def test_an_agent_that_is_not_enabled_is_not_started(machine, package, newer):
    machine.install(package)
    machine.boot(FAILS + f"""
dpkg --install {keep(machine, newer)}
fails systemctl is-active synctrain
fails systemctl is-enabled synctrain
# Before `init`, a start fails for good after a few attempts, and says why.
systemctl start synctrain || true
for _ in $(seq 600); do systemctl is-failed synctrain && break; sleep 0.1; done
journalctl -u synctrain --no-pager -o cat >/root/journal
grep -q 'synctrain init' /root/journal
echo done
""")


def keep(machine, package):
    """Puts a package where it is still found after the machine was booted."""
    with open(package, "rb") as source, open(machine.path("/root/newer.deb"), "wb") as target:
        target.write(source.read())
    return "/root/newer.deb"
