"""What a user has again after logging in: the agent and the mounts, by the user's own systemd."""

import os

from test_system_unit import FAILS

# A login is what starts user@.service; without logind nothing else differs for the units.
SESSION = FAILS + """
uid=$(id -u me)
me() {
    setpriv --reuid=me --regid=me --init-groups env -i HOME=/home/me USER=me PATH="$PATH" LC_ALL=C.UTF-8 \
        XDG_RUNTIME_DIR=/run/user/$uid "$@"
}
until_it_is() {
    for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done
    journalctl -b -n 60 --no-pager; me sh -c 'cat ~/.local/state/synctrain/*.log'; mountpoint /home/me/Library; return 1
}
is_mounted() { me mountpoint -q "/home/me/$1"; }
is_gone() { fails is_mounted "$1"; }
log_in() { systemctl start user@$uid; }
# What user@ needed is stopped by systemd a moment later, which would cancel a login just begun.
is_logged_out() { [ "$(systemctl is-active user-runtime-dir@$uid)" = inactive ]; }
log_out() { systemctl stop user@$uid; until_it_is is_logged_out; }
log_in
me synctrain init --name laptop --no-discovery --listen tcp://127.0.0.1:0
me systemctl --user enable --now synctrain
until_it_is me synctrain status
me sh -c 'mkdir ~/photos && echo hello >~/photos/a.txt'
me synctrain folder add photos /home/me/photos --new --mode full
me synctrain scan photos:
me synctrain wait photos --timeout 60
"""


def with_fuse(machine):
    """The package only recommends it."""
    if not os.path.exists(machine.path("/usr/bin/fusermount3")):
        machine.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "fuse3")


def test_a_folder_is_mounted_at_login(machine, package):
    machine.install(package)
    with_fuse(machine)
    machine.run("useradd", "--create-home", "me")
    machine.boot(SESSION + """
me synctrain mount photos /home/me/Library --at-login
is_mounted Library
[ "$(me cat /home/me/Library/a.txt)" = hello ]
log_out
is_gone Library
log_in
until_it_is is_mounted Library
[ "$(me cat /home/me/Library/a.txt)" = hello ]
me sh -c 'echo more >/home/me/Library/b.txt'
[ "$(me cat /home/me/photos/b.txt)" = more ]
# Unmounted by hand it comes back with the next login, until the user says otherwise.
# What watches disks in a desktop's session may look into it for a moment.
until_it_is me synctrain unmount /home/me/Library
is_gone Library
log_out
log_in
until_it_is is_mounted Library
until_it_is me synctrain unmount /home/me/Library --forget
log_out
log_in
until_it_is me synctrain status
me synctrain mount --list >/root/mounts
is_gone Library
[ ! -s /root/mounts ] || { cat /root/mounts; false; }
echo done
""", devices=["/dev/fuse"])


def test_the_agent_is_stopped_and_started_as_the_unit(machine, package):
    machine.install(package)
    machine.run("useradd", "--create-home", "me")
    machine.boot(SESSION + """
me synctrain agent stop
fails me systemctl --user is-active synctrain
me synctrain agent start 2>/root/started
grep 'synctrain.service' /root/started
me systemctl --user is-active synctrain
# The log is where it is said to be.
fails me synctrain logs 2>/root/logs
grep 'journalctl --user -u synctrain' /root/logs
me journalctl --user -u synctrain --no-pager >/root/journal
grep 'listening on tcp://127.0.0.1' /root/journal
# Nobody may raise the priority of threads here: not worth a line for each command.
journalctl --no-pager _UID=$uid >/root/journal
fails grep 'thread priority' /root/journal
# Not enabled, it is started as before.
me synctrain agent stop
me systemctl --user disable synctrain
me synctrain agent start
fails me systemctl --user is-active synctrain
me synctrain status
me synctrain agent stop
echo done
""")


def test_the_unit_of_one_folder(machine, package):
    machine.install(package)
    with_fuse(machine)
    machine.run("useradd", "--create-home", "me")
    machine.boot(SESSION + """
me sh -c 'mkdir -p ~/store/films && echo film >~/store/films/f.txt'
me synctrain folder add films /home/me/store/films --new --mode full
me synctrain scan films:
me systemctl --user enable --now synctrain-mount@films
until_it_is is_mounted films
[ "$(me cat /home/me/films/f.txt)" = film ]
log_out
is_gone films
log_in
until_it_is is_mounted films
[ "$(me cat /home/me/films/f.txt)" = film ]
me systemctl --user stop synctrain-mount@films
is_gone films
echo done
""", devices=["/dev/fuse"])
