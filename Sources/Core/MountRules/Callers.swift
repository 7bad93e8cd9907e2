/// What /proc says of a thread that waits for the mount. Pure: the texts are handed in.
package enum Callers {
    /// Programs that read every file they see, without anyone having asked for it: what is not here is refused to them. As
    /// /proc/PID/comm has them, at most 15 bytes. A rule by name can be fooled; it saves traffic and protects nothing.
    private static let scanners: Set = thumbnailers.union([
        // Indexes of contents.
        "tracker-extract", "tracker-miner-f", "localsearch-3", "localsearch-ext", "baloo_file_extr", "baloo_file",
        "recollindex",
    ])
    private static let thumbnailers: Set = [
        "gdk-pixbuf-thum", "totem-video-thu", "ffmpegthumbnail", "ffmpegthumbnai", "tumblerd", "evince-thumbnai",
        "gnome-thumbnail", "gsf-office-thum", "glycin-image-rs", "kioworker", "thumbnail.so",
    ]

    /// - Parameters:
    ///   - command: /proc/PID/comm of proc_pid_comm(5).
    ///   - names: what the configuration adds, or takes out with `!` before it; the first that fits decides.
    package static func isScanner(command: String, _ names: [String] = []) -> Bool {
        let command = String(command.prefix { $0 != "\n" })
        guard !command.isEmpty else { return false }
        for name in names {
            let isExcluded = name.hasPrefix("!")
            // The kernel keeps 15 bytes of a name.
            if (isExcluded ? name.dropFirst() : name[...]).utf8.prefix(15).elementsEqual(command.utf8) {
                return !isExcluded
            }
        }
        return scanners.contains(command)
    }

    /// Whether it is one of the programs that a file manager starts to make a thumbnail.
    ///
    /// - Parameter command: /proc/PID/comm of proc_pid_comm(5).
    package static func isThumbnailer(command: String) -> Bool {
        thumbnailers.contains(String(command.prefix { $0 != "\n" }))
    }

    /// The process that a thread belongs to.
    ///
    /// - Parameter status: /proc/PID/status of proc_pid_status(5).
    package static func process(status: String) -> Int32? { number("Tgid:", in: status) }

    /// The process that started it.
    ///
    /// - Parameter status: as above.
    package static func parent(status: String) -> Int32? { number("PPid:", in: status) }

    private static func number(_ name: Substring, in status: String) -> Int32? {
        for line in status.split(separator: "\n") where line.hasPrefix(name) {
            return Int32(line.dropFirst(name.count).drop { $0 == "\t" || $0 == " " })
        }
        return nil
    }

    /// Whether a signal is pending that will end the thread: one that is neither blocked, ignored nor caught. Programs that use
    /// timers get caught signals all the time, and some take EINTR for a failure.
    ///
    /// - Parameter status: /proc/PID/status of proc_pid_status(5).
    package static func isDying(status: String) -> Bool {
        var masks: [Substring: UInt64] = [:]
        for line in status.split(separator: "\n") {
            let words = line.split(separator: "\t")
            guard words.count == 2, let mask = UInt64(words[1], radix: 16) else { continue }
            masks[words[0]] = mask
        }
        func mask(_ name: Substring) -> UInt64 { masks[name] ?? 0 }
        // Bit 8 is SIGKILL, which nobody blocks.
        let pending = mask("SigPnd:") | mask("ShdPnd:")
        if pending & 1 << 8 != 0 { return true }
        // What does nothing unless it is caught: SIGCHLD, SIGCONT, SIGURG, SIGWINCH, and the signals that stop.
        let harmless: UInt64 = [17, 18, 19, 20, 21, 22, 23, 28].reduce(0) { $0 | 1 << ($1 - 1) }
        return pending & ~mask("SigBlk:") & ~mask("SigIgn:") & ~mask("SigCgt:") & ~harmless != 0
    }
}
