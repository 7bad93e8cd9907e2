"""The system unit, run by the systemd of a machine that is booted for it."""

import json
import os

FAILS = """
fails() { if "$@"; then return 1; fi; }
"""

# The unit of the user `me`, as one of the system's.
START_OF_USER_UNIT = """
sed 's/^.Service.$/&\\nUser=me/' /usr/lib/systemd/user/synctrain.service >/etc/systemd/system/me.service
systemctl daemon-reload
systemctl start me
"""


def first_steps(account="synctrain", home="/var/lib/synctrain", unit="synctrain", start="systemctl enable --now synctrain"):
    """As docs/install.md says, to a folder with a file; setpriv is for sudo."""
    return FAILS + f"""
as() {{
    setpriv --reuid={account} --regid={account} --init-groups env -i HOME={home} PATH="$PATH" LC_ALL=C.UTF-8 "$@"
}}
answers() {{
    for _ in $(seq 300); do as synctrain status --json >/root/status 2>/root/reason && return 0; sleep 0.1; done
    cat /root/reason; systemctl status {unit}; journalctl -u {unit} -n 20 --no-pager; return 1
}}
as synctrain init --name nas --no-discovery --listen tcp://127.0.0.1:0
{start}
answers
install -d -o {account} -g {account} /srv/library
as synctrain folder add library /srv/library --new --mode full
echo hello >/srv/library/a.txt
as synctrain scan library:
as synctrain wait library --timeout 60
as synctrain status --json >/root/status
"""


def test_it_runs_as_its_account_and_no_more(machine, package):
    machine.install(package)
    machine.boot(first_steps() + """
pid=$(systemctl show --property=MainPID --value synctrain)
stat -c %U /proc/$pid >/root/account
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$pid/status >/root/rights
# It is systemd's to restart, and systemd has its log; commands of its account say so.
fails as synctrain agent restart 2>/root/refused
grep 'sudo systemctl restart synctrain' /root/refused
[ "$(systemctl show --property=MainPID --value synctrain)" = "$pid" ]
fails as synctrain logs 2>/root/logs
grep 'Its log: sudo journalctl -u synctrain' /root/logs
as synctrain doctor --verbose --json >/root/doctor || true
fails nsenter --target $pid --mount touch /usr/here /etc/here
# What makes thumbnails runs in a sandbox that the unit must allow.
if command -v bwrap && command -v vips; then
    vips black /srv/library/picture.png 600 400
    as synctrain scan library:
    as synctrain thumbnail library:picture.png -o /var/lib/synctrain/small.jpg
    [ -s /var/lib/synctrain/small.jpg ]
fi
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
    service = [finding for finding in json.loads(read("doctor"))["findings"] if finding["code"] == "service"]
    assert [finding["message"] for finding in service] == ["The agent starts with the machine."]


def test_the_user_unit_can_read_a_folder(machine, package):
    """What it takes from the agent must leave what the agent needs. Here as a system unit: both managers read it alike."""
    machine.install(package)
    machine.run("useradd", "--create-home", "me")
    machine.boot(first_steps("me", "/home/me", "me", START_OF_USER_UNIT) + """
[ "$(stat -c %U /proc/$(systemctl show --property=MainPID --value me))" = me ]
echo done
""")


def test_before_it_is_set_up_it_is_not_started_again(machine, package):
    machine.install(package)
    machine.boot(FAILS + """
systemctl start synctrain || true
for _ in $(seq 300); do systemctl is-failed --quiet synctrain && break; sleep 0.1; done
systemctl is-failed synctrain
[ "$(systemctl show --property=ExecMainStatus --value synctrain)" = 78 ]
[ "$(systemctl show --property=NRestarts --value synctrain)" = 0 ]
echo done
""")


def test_two_devices_sync(machine, package):
    """A NAS with the system unit and a laptop with the unit of its user, both in this machine."""
    machine.install(package)
    machine.run("useradd", "--create-home", "me")
    machine.boot(first_steps() + """
me() {
    setpriv --reuid=me --regid=me --init-groups env -i HOME=/home/me PATH="$PATH" LC_ALL=C.UTF-8 "$@"
}
until_it_is() { for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done; return 1; }
me synctrain init --name laptop --no-discovery --listen tcp://127.0.0.1:0
""" + START_OF_USER_UNIT + """
until_it_is me synctrain status
address=$(grep -o 'tcp://127[^"]*' /root/status | head -n 1)
as synctrain device add "$(me synctrain id)" --name laptop
as synctrain folder share library laptop
me synctrain device add "$(as synctrain id)" --name nas --address "$address"
me synctrain folder add library /home/me/library --device nas
until_it_is me synctrain stat library:a.txt
[ ! -e /home/me/library/a.txt ]
me synctrain select library:a.txt
until_it_is cmp /srv/library/a.txt /home/me/library/a.txt
[ "$(cat /home/me/library/a.txt)" = hello ]
# And back; the rights of neither account are needed for that.
me sh -c 'echo more >>/home/me/library/a.txt'
me synctrain scan library:
until_it_is cmp /srv/library/a.txt /home/me/library/a.txt
[ "$(stat -c %U /srv/library/a.txt /home/me/library/a.txt)" = "$(printf 'synctrain\\nme')" ]
echo done
""")


def test_an_update_restarts_it_and_a_removal_stops_it(machine, package, newer):
    machine.install(package)
    machine.boot(first_steps() + f"""
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
