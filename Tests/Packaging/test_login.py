"""What a user has again after logging in: the agent and the mounts, by the user's own systemd."""

import os

# A login is what starts user@.service; without logind nothing else differs for the units.
SESSION = """
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
is_gone() { ! is_mounted "$1"; }
log_in() { systemctl start user@$uid; }
log_out() { systemctl stop user@$uid; }
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
me synctrain unmount /home/me/Library
is_gone Library
log_out
log_in
until_it_is is_mounted Library
me synctrain unmount /home/me/Library --forget
log_out
log_in
until_it_is me synctrain status
me synctrain mount --list >/root/mounts
is_gone Library
[ ! -s /root/mounts ] || { cat /root/mounts; false; }
echo done
""", devices=["/dev/fuse"])


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
