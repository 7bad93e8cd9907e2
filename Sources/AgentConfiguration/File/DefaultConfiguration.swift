/// The text that a new configuration file starts with. `config/config.toml` is a copy of it; a test compares them.
enum DefaultConfiguration {
    /// The annotated text; nil leaves a setting at its default.
    static func text(name: String? = nil, listen: [String]? = nil, localDiscovery: Bool = true) -> String {
        """
        # synctrain's configuration. A running agent takes over changes made by `synctrain device` and
        # `synctrain folder`, which keep your comments; after an edit by hand, `synctrain reload`.

        # What other devices see this one called. Left out, it is the host name.
        \(name.map { "name = \(TOMLDraft.quoted($0))" } ?? "# name = \"laptop\"")

        # Where other devices reach this one: a port of all its addresses, IPv4 and IPv6, or of one of them, such as
        # "tcp://192.0.2.7:22000" or "tcp://[fe80::1%eth0]:22000". [] listens nowhere and only dials.
        listen = \(TOMLDraft.list(listen ?? Configuration.defaultListen))

        # Where folders that admins offer get a directory each; left out, "~/Sync".
        # offered-folders = "~/Sync"

        [discovery]
        # Announce this device on the local network and listen for others there (UDP port 21027).
        local = \(localDiscovery)

        [bluetooth]
        # Reach and be reached by paired devices near-by over Bluetooth LE, where this machine has it. Needs bluetoothd.
        enabled = true
        # Which adapter; left out, the first that is switched on.
        # adapter = "hci0"
        # How paired devices that are absent are searched for while nobody waits for one: so many seconds of scanning, and so
        # many from the beginning of one scan to the next. 5 of 60 finds a device that comes near after 26 s on average. A longer
        # interval saves battery and airtime; 0: search only for `pair`, `drop` and `fetch`.
        scan-window = 5
        scan-interval = 60

        [cache]
        # How much of what was fetched or streamed without being selected is kept on this disk.
        # Sizes have a unit: KiB MiB GiB TiB, or KB MB GB TB. 0 keeps nothing.
        limit = "1 GiB"

        [fetch]
        # How much may be asked for and not be here yet: in all, and of one device. At least 16 MiB each.
        window = "64 MiB"
        window-per-device = "32 MiB"

        [http]
        # Where `synctrain url` and `synctrain open` let other programs read files: this machine alone, at any port that is
        # free; with a port of your own, links outlive a restart. "" listens nowhere.
        listen = "127.0.0.1:0"
        # Whether `listen` may be an address that other machines reach: whoever has a link then reads the file from there.
        network = false
        # Names by which this machine may be asked then, besides its addresses, such as ["nas.local"].
        hosts = []
        # How fast files are sent, all together, such as "20 MiB/s"; 0: as fast as they come.
        rate = 0

        [thumbnails]
        # Small pictures of photos and films, here or not. They are made by other programs in a sandbox: Debian's packages
        # bubblewrap, libvips-tools and ffmpeg.
        enabled = true
        # Where they are kept, and how much of them: those used longest ago go first. Left out, in this user's cache.
        # cache = "~/.cache/synctrain/thumbnails"
        limit = "256 MiB"
        # How much may be fetched for one: usually; and over a metered connection or Bluetooth.
        fetch-limit = "16 MiB"
        fetch-limit-slow = "256 KiB"
        # A directory of a synced folder that has those of other devices, and gets those made here if it is selected.
        # folder = "photos"
        # directory = ".thumbnails"

        [limits]
        # How fast blocks may go out and come in, over all links but Bluetooth, such as "2 MiB/s"; 0: as fast as they can.
        up = 0
        down = 0
        # Whether that holds for devices in networks that this machine has an address in, too.
        local-network = false
        # At other times other limits: the first block that it is the time of counts, by the local clock; `days` left out: all.
        #   [[limits.schedule]]
        #   days = ["mon", "tue", "wed", "thu", "fri"]
        #   from = "08:00"
        #   to = "18:00"             # before `from`: on the next day
        #   up = "500 KiB/s"

        [policies]
        # What may go while the connection is metered (NetworkManager says so; a phone's hot spot is, as a rule):
        # "nothing" is held back; "limit": everything goes, at no more than metered-limit each way; "on-demand-only": indexes, what
        # somebody asks for (`fetch`, `cat`) and what other devices ask for go, what is selected waits; "pause": indexes go only.
        # Bluetooth is never metered, and networks that this machine has an address in are only with local-network = true.
        on-metered = "on-demand-only"
        metered-limit = "256 KiB/s"
        local-network = false
        # The same while the machine runs on its battery (UPower says so) and its charge is below so many percent, over all links;
        # 100: whatever the charge. `synctrain policy ignore --for 1h` sets both aside.
        on-battery = "nothing"
        battery-below = 30

        [log]
        # trace, debug, info, notice, warning, error or critical
        level = "info"
        # human, json, or auto: human on a terminal, else json
        format = "auto"

        # The devices to share folders with, one block each:
        #
        #   [[device]]
        #   id = "AAAQEAY-EAUDAOB-CAJBIFQ-YDIOB4B-IBCEQTC-QKRMFYX-YDENBWH-A5DYPQG"
        #   name = "desktop"
        #   addresses = ["dynamic", "tcp://192.0.2.7:22000"]   # dynamic: ask discovery
        #   bluetooth = "all"        # what may go over Bluetooth with it, as for folders; the stricter of the two counts
        #   paused = false           # neither dialled nor let in; paused-until as below
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
        # And, where the usual values given here do not suit:
        #
        #   readers = []             # those of devices whose changes are refused here, until `synctrain refused` settles them
        #   admins = []              # those whose further devices and folders are taken over
        #   untrusted = []           # those that keep it encrypted: they never get it unencrypted (noted by the agent)
        #   rescan-interval = 3600   # seconds from one scan of the disk to the next; 0: only when the agent starts
        #   watch = true             # notice changes on this disk as they happen
        #   ignore-permissions = false   # neither send nor set permissions: for disks that have none
        #   order = "small-first"    # what is fetched first; or newest, alphabetic
        #   priority = []            # what goes before that order, such as ["*.md", "/notes"], patterns of .stignore
        #   groups = []              # files that come into their places together, by stem: such as ["album/**/*.{jpg,txt}"]
        #   minimum-free = "1 %"     # of the disk, or a size such as "5 GiB": what is never filled; 0 for none
        #   max-conflicts = -1       # how many conflict copies of a file are kept, the newest; -1: all
        #   min-copies = 1           # how many other devices must hold a file before it goes to free space
        #   keep-free = "10 %"       # of the disk, or a size: let go what was selected with --while-space; left out: never
        #   bluetooth = "all"        # over Bluetooth: all, selected-and-on-demand, index-only, or off: not even names
        #   bluetooth-limit = "10 MB"    # larger files wait for a network unless one asks for them; 0: no limit
        #   versions = "none"        # keep what other devices replace or delete: trashcan, simple, staggered (as Syncthing)
        #   versions-path = "~/old"  # where; left out: .stversions in the folder
        #   versions-keep = 5        # simple: so many versions of each file
        #   versions-cleanout-days = 0   # trashcan, simple: after so many days a version goes; 0: never
        #   versions-max-age-days = 365  # staggered: the same
        #   versions-clean-interval = 3600   # seconds from one look for versions that are to go to the next; 0: none
        #   conflicts = "newest"     # changed here and elsewhere, and here is the older: newest (the other becomes a copy),
        #                            # mine, theirs, both (the copy has an ordinary name) or command
        #   conflicts-deleted = "newest"  # deleted here and changed elsewhere: newest (the change stays), mine, theirs, command
        #   conflicts-command = ["/usr/local/bin/decide"]   # a program that decides; see docs/decisions/conflicts.md
        #   conflicts-command-seconds = 60   # how long it may take

        """
    }
}
