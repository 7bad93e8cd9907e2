/// The text that a new configuration file starts with. `config/config.toml` is a copy of it; a test compares them.
enum DefaultConfiguration {
    /// The annotated text; nil leaves a setting at its default.
    static func text(
        name: String? = nil, listen: [String]? = nil, discovery: Configuration.Discovery = Configuration.Discovery(),
        relays: Configuration.Relays = Configuration.Relays(), mapsPorts: Bool = true
    ) -> String {
        """
        # synctrain's configuration. A running agent applies changes made by `synctrain device` and
        # `synctrain folder`, which keep your comments; after editing this file, run `synctrain reload`.

        # Name shown to other devices; default: the host name.
        \(name.map { "name = \(TOMLText.quoted($0))" } ?? "# name = \"laptop\"")

        # Addresses to listen on: a port on all addresses (IPv4 and IPv6) or on one of them, for example
        # "tcp://192.0.2.7:22000" or "tcp://[fe80::1%eth0]:22000". []: only dial.
        listen = \(TOMLText.list(listen ?? Configuration.defaultListen))

        # Parent directory for folders that admins offer; default: "~/Sync".
        # offered-folders = "~/Sync"

        [discovery]
        # Announce this device on the local network and listen for others there (UDP port 21027).
        local = \(discovery.local)
        # Tell discovery servers this device's id and addresses, and ask them for the addresses of known devices. The servers
        # also see the addresses the requests come from. They learn no names, folders or files.
        global = \(discovery.global)
        # "default": the servers of the Syncthing project; or your own, for example "https://192.0.2.9:8443/?id=DEVICE-ID".
        servers = \(TOMLText.list(discovery.servers))
        # Tell the servers this device's addresses in local networks, too.
        announce-local-addresses = \(discovery.announcesLocalAddresses)

        [relays]
        # Connect through relays where no direct connection works. Relays forward encrypted data that they cannot read, and
        # see which devices connect.
        enabled = \(relays.isEnabled)
        # "default": the public relays of the Syncthing project; or your own: "relay://192.0.2.9:22067/?id=DEVICE-ID", or a
        # list of relays, "dynamic+https://relays.example.org/endpoint". []: use only relays of other devices.
        servers = \(TOMLText.list(relays.servers))

        [network]
        # Ask routers to forward the port of `listen` (UPnP, NAT-PMP, PCP).
        port-mapping = \(mapsPorts)
        # Connections per device, 1 to 8, if the other device wants several, too.
        connections = 3
        # Proxy for connections, discovery servers and relays: "socks5://[USER:PASSWORD@]HOST:PORT" or "http://…"; "": none.
        # Default: ALL_PROXY in the environment.
        # proxy = "socks5://127.0.0.1:9050"
        # Connect through the proxy only, for example for Tor: no local discovery, no listening for TCP, no port mapping.
        proxy-only = false

        [bluetooth]
        # Connect to nearby paired devices over Bluetooth LE. Needs bluetoothd.
        enabled = true
        # Adapter; default: the first that is switched on.
        # adapter = "hci0"
        # Background scanning for absent paired devices: seconds of scanning, and seconds from the start of one scan to the
        # start of the next. With 5 of 60 a device that comes near is found after 26 s on average. A longer interval saves
        # battery and airtime; 0: scan only for `pair`, `drop` and `fetch`.
        scan-window = 5
        scan-interval = 60

        [cache]
        # Disk space for data that was fetched or streamed without being selected.
        # Sizes have a unit: KiB MiB GiB TiB, or KB MB GB TB. 0: no cache.
        limit = "1 GiB"

        [fetch]
        # Requested data in flight, in total and per device. At least 16 MiB each.
        window = "64 MiB"
        window-per-device = "32 MiB"

        [http]
        # Address of the page and of links made by `synctrain url` and `synctrain open`. By default only this machine. If another
        # program uses the port, another free one is used, and `status` says so. Port 0: any free port. "": do not listen.
        listen = "127.0.0.1:8394"
        # Allow `listen` to be an address that other machines reach, for example "0.0.0.0:8394". The page is then served with TLS and
        # asks for the password of `synctrain ui --set-password`, without which it does not listen. Anyone with a link can read
        # the file.
        network = false
        # Host names allowed in requests besides IP addresses and this machine's own name, for example ["nas.example.org"].
        hosts = []
        # Certificate and private key (PEM) for such an address, in one file or two; default: one that the agent creates.
        # certificate = "/etc/ssl/certs/nas.pem"
        # certificate-key = "/etc/ssl/private/nas.key"
        # Rate limit for all files together, for example "20 MiB/s"; 0: no limit.
        rate = 0

        [notifications]
        # Notifications on the desktop: conflicts, folders that have stopped, devices that want to connect, ready for the train.
        enabled = true

        [desktop]
        # An icon in the tray of the desktop, where it has one: how the sync is going, and a menu to open the page or to pause.
        tray = true

        [thumbnails]
        # Thumbnails of photos and films, present on this device or not. Created in a sandbox by other programs: the Debian
        # packages bubblewrap, libvips-tools and ffmpeg.
        enabled = true
        # Cache directory and size; the least recently used are removed first. Default: this user's cache directory.
        # cache = "~/.cache/synctrain/thumbnails"
        limit = "256 MiB"
        # Maximum download for one thumbnail: normally; and over a metered connection or Bluetooth.
        fetch-limit = "16 MiB"
        fetch-limit-slow = "256 KiB"
        # Directory in a synced folder to share thumbnails with other devices; select it to share those made here.
        # folder = "photos"
        # directory = ".thumbnails"

        [mount]
        # Mounted folders (`synctrain mount`; `mount` of a folder mounts it whenever the agent runs). Seconds that programs wait for
        # data that does not arrive, 5 to 600.
        patience = 20
        # What one program may download by reading within 10 minutes, for example "20 GiB"; 0: no limit.
        read-budget = 0
        # More programs that read all files they see, as `ps -e` names them, and may not download: ["indexer"]; "!tumblerd" lets
        # one of the known ones download.
        scanners = []
        # Maximum download for one thumbnail of a file that is not here, when a file manager shows it; 0: no such thumbnails.
        thumbnail-limit = "256 KiB"

        [limits]
        # Upload and download limits for all links except Bluetooth, for example "2 MiB/s"; 0: no limit.
        up = 0
        down = 0
        # Apply the limits to local networks (those this machine has an address in), too.
        local-network = false
        # Limits by time of day (local time): the first matching block applies; without `days`, every day.
        #   [[limits.schedule]]
        #   days = ["mon", "tue", "wed", "thu", "fri"]
        #   from = "08:00"
        #   to = "18:00"             # before `from`: on the next day
        #   up = "500 KiB/s"

        [policies]
        # Policy for metered connections, as reported by NetworkManager (usually a phone's hot spot):
        # "nothing": no restriction; "limit": at most metered-limit each way; "on-demand-only": indexes and requested files
        # (`fetch`, `cat`, requests of other devices), selected files wait; "pause": indexes only.
        # Bluetooth is never metered; local networks are exempt unless local-network = true.
        on-metered = "on-demand-only"
        metered-limit = "256 KiB/s"
        local-network = false
        # Policy for battery power, as reported by UPower, while the charge is below battery-below percent, for all links;
        # 100: always on battery. `synctrain policy ignore --for 1h` suspends both policies.
        on-battery = "nothing"
        battery-below = 30

        [log]
        # trace, debug, info, notice, warning, error or critical
        level = "info"
        # human, json, or auto: human on a terminal, else json
        format = "auto"

        # Devices and folders that are not offered again (`synctrain device ignore`, `synctrain folder ignore`). A folder is
        # "ID", or "ID from DEVICE-ID" if it is ignored from one device only.
        [ignored]
        devices = []
        folders = []

        # The devices to share folders with, one block each:
        #
        #   [[device]]
        #   id = "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"
        #   name = "desktop"
        #   addresses = ["dynamic", "tcp://192.0.2.7:22000"]   # dynamic: use discovery; also relay://HOST:PORT/?id=…
        #   bluetooth = "all"        # as for folders; the stricter of the two applies
        #   paused = false           # paused-until as below
        #
        # Optional settings with their defaults (`synctrain device set`):
        #
        #   introducer = false       # add the devices that it shares folders with, and share those folders with them
        #   skip-introduction-removals = false   # keep what it introduced when it no longer lists it
        #   # paused-reason: the quota that the device went over, for which it is paused (set by the agent)
        #   # introduced-by: the device that introduced this one and may remove it again (set by the agent)
        #   allowed-networks = []    # where it may connect from and is dialled, for example ["192.168.0.0/16", "fe80::/10"];
        #                            # the first that contains an address decides, "!10.0.0.0/8" excludes; []: everywhere
        #   up = 0                   # upload and download limits for this device, besides [limits]: "500 KiB/s"; 0: none
        #   down = 0
        #   connections = 3          # as in [network], for this device
        #
        # The folders, one block each. `id` is the same on all devices, `path` is this device's own.
        #
        #   [[folder]]
        #   id = "photos"
        #   label = "Photos"
        #   path = "~/Photos"
        #   mode = "selective"       # selective: keep what is selected; full: keep everything
        #   type = "sendreceive"     # or sendonly, receiveonly
        #   devices = ["AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"]
        #   paused = false           # paused-until = "2026-11-21T23:00:00Z" ends a pause by itself (`synctrain pause --for`)
        #
        # Optional settings with their defaults:
        #
        #   readers = []             # devices whose changes are refused here (`synctrain refused`)
        #   admins = []              # devices whose other devices and folders are added here, too
        #   untrusted = []           # devices that keep it encrypted and never get it unencrypted (set by the agent)
        #   introduced = []          # shares made by introducers, "DEVICE-ID by DEVICE-ID" (set by the agent)
        #   rescan-interval = 3600   # seconds between full scans; 0: only when the agent starts
        #   watch = true             # watch the disk for changes
        #   ignore-permissions = false   # do not sync permissions: for file systems without them
        #   order = "small-first"    # download order: small-first, newest or alphabetic
        #   priority = []            # patterns to download first, as in .stignore: ["*.md", "/notes"]
        #   groups = []              # files with the same stem to update together: ["album/**/*.{jpg,txt}"]
        #   minimum-free = "1 %"     # of the disk, or a size: space to keep free; 0: none. On a disk mounted below: 1 % at most
        #   max-conflicts = -1       # conflict copies to keep of each file; -1: all
        #   min-copies = 1           # other devices that must have a file before it is freed here
        #   copies-max-age-days = 30 # how long the word of an absent device that keeps everything counts; 0: never
        #   keep-free = "10 %"       # of the disk, or a size: frees files selected with --while-space; default: never
        #   scrub-every = "30d"      # read all files again and compare them with their hashes, at low priority; default: never
        #   bluetooth = "all"        # all, selected-and-on-demand, index-only or off
        #   bluetooth-limit = "10 MB"    # larger files wait for a network unless requested; 0: no limit
        #   guard-incoming-deletions = true   # other devices delete over 100 and over half of the files here: ask first
        #   case-clash = "keep"      # two files, one name to this disk (A and a): keep the one here; rename: the later name changes
        #   relays = true            # use relays for this folder; false: wait for a direct connection
        #   mount = "~/Library"      # directory that shows all files while the agent runs; default: not mounted
        #   mount-read-only = false  # refuse changes there
        #   versions = "none"        # archive replaced and deleted files: trashcan, simple, staggered (as Syncthing)
        #   versions-path = "~/old"  # archive directory; default: .stversions in the folder
        #   versions-keep = 5        # simple: versions to keep of each file
        #   versions-cleanout-days = 0   # trashcan, simple: days to keep a version; 0: forever
        #   versions-max-age-days = 365  # staggered: the same
        #   versions-clean-interval = 3600   # seconds between cleanups of the archive; 0: none
        #   conflicts = "newest"     # for local versions that lose a conflict: newest (they become a copy),
        #                            # mine, theirs, both (the copy gets an ordinary name) or command
        #   conflicts-deleted = "newest"  # deleted here, changed elsewhere: newest (keeps the change), mine, theirs, command
        #   conflicts-command = ["/usr/local/bin/decide"]   # a program that decides; see docs/decisions/conflicts.md
        #   conflicts-command-seconds = 60   # its time limit
        #   sync-xattrs = false      # announce extended attributes and access control lists, and apply those of other devices
        #   send-xattrs = false      # only announce them
        #   sync-ownership = false   # the same for owner and group; applying them needs root or CAP_CHOWN
        #   send-ownership = false
        #   xattr-filter = ["user.*", "system.posix_acl_access", "system.posix_acl_default"]   # "!user.cache.*" excludes;
        #                            # the first pattern that matches a name decides, what none matches is left alone
        #   xattr-max-entry-size = 1024   # bytes of name and value of an attribute to sync; 0: no limit
        #   xattr-max-total-size = 4096   # bytes of all attributes of a file; 0: no limit

        """
    }
}
