import Glibc
import KernelFiles
import Phrases

extension WatchImpairment {
    /// The state of a folder with `watched` watches and with directories that could not be watched, by errno.
    static func state(watched: Int, failures: [Int32: Int]) -> WatchState {
        // What may not be read is a problem of that directory, which the scan tells of; what is mounted twice is none.
        let failures = failures.filter { $0.key != EACCES && $0.key != EPERM && $0.key != EEXIST }
        if let missing = failures[ENOSPC] {
            return .impaired(watchLimit(watched: watched, missing: missing, limit: limit("max_user_watches")))
        }
        guard let (error, count) = failures.min(by: { $0.key < $1.key }) else { return .running(watched: watched) }
        return .impaired(
            WatchImpairment(
                code: .watchFailed,
                message: Phrase(
                    "\(count) directories cannot be watched: \(String(cString: strerror(error))). Changes in them "
                        + "are found by the periodic rescan; the agent retries in a few minutes."),
                watched: watched))
    }

    static func watchLimit(watched: Int, missing: Int, limit: Int?) -> WatchImpairment {
        // Twice what is needed here or allowed now: other programs watch too, and folders grow.
        let needed = max(watched + missing, limit ?? 0, 1 << 16)
        var proposal = 1 << 17
        while proposal < 2 * needed, proposal < 1 << 30 { proposal *= 2 }
        let remedy = raise("max_user_watches", to: proposal)
        return WatchImpairment(
            code: .watchLimit,
            message: limit.map {
                Phrase(
                    "\(missing) or more directories are not watched: the limit of inotify watches per user is reached (\($0)). "
                        + "Changes in them are found by the periodic rescan. \(remedy)")
            }
                ?? Phrase(
                    "\(missing) or more directories are not watched: the limit of inotify watches per user is reached. Changes in them "
                        + "are found by the periodic rescan. \(remedy)"),
            watched: watched)
    }

    static func instanceLimit(limit: Int?) -> WatchImpairment {
        let remedy = raise("max_user_instances", to: min(max(1024, 2 * (limit ?? 0)), 1 << 30))
        return WatchImpairment(
            code: .instanceLimit,
            message: limit.map {
                Phrase(
                    "The folder is not watched: the limit of inotify instances per user is reached (\($0)). Changes are found by the "
                        + "periodic rescan. \(remedy)")
            }
                ?? Phrase(
                    "The folder is not watched: the limit of inotify instances per user is reached. Changes are found by the periodic "
                        + "rescan. \(remedy)"),
            watched: 0)
    }

    private static func raise(_ name: String, to value: Int) -> Phrase {
        let setting = "fs.inotify.\(name)=\(value)"
        return Phrase(
            "Raise it with: sudo sysctl \(setting) To keep it after a reboot: "
                + "echo \(setting) | sudo tee /etc/sysctl.d/90-synctrain-\(name).conf")
    }

    /// A limit of inotify as the system has it; nil if it does not say.
    static func limit(_ name: String) -> Int? {
        let bytes = KernelFile.bytes(at: "/proc/sys/fs/inotify/\(name)", limit: 32) ?? []
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        // The system allows more than is of any use as a number to compute with.
        return Int(String(decoding: digits, as: UTF8.self)).map { min($0, 1 << 29) }
    }

    /// Why the folder is not watched after a session came to this end; nil if nothing is the matter.
    init?(_ outcome: WatchSession.Outcome, program: String) {
        let rescans = Phrase("Until then changes are found by the periodic rescan.")
        switch outcome {
        case .stopped, .overflow: return nil
        case .refused(.instance, EMFILE): self = .instanceLimit(limit: Self.limit("max_user_instances"))
        case .rootGone, .refused(.root, _):
            self.init(
                code: .rootGone,
                message: Phrase(
                    "The folder's directory was moved, removed, unmounted or replaced. Put it back, or change the "
                        + "folder's path in the configuration."),
                watched: 0)
        // A process has reached a limit of its own or of the system: nothing is amiss with what is installed.
        case .cannotStart(let error) where [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(error), .refused(_, let error):
            self.init(
                code: .programEnded,
                message: Phrase(
                    "The watch program failed: \(String(cString: strerror(error))). It is restarted. \(rescans)"),
                watched: 0)
        case .cannotStart(let error):
            self.init(
                code: .programMissing,
                message: Phrase(
                    "\(program) cannot be started: \(String(cString: strerror(error))). Install synctrain again so "
                        + "that synctrain-watch is beside it. \(rescans)"),
                watched: 0)
        case .ended(let status):
            let signal = status & 0x7F
            self.init(
                code: .programEnded,
                message: signal == 0
                    ? Phrase(
                        "The watch program exited with exit code \(status >> 8 & 0xFF). It is restarted. \(rescans)")
                    : Phrase("The watch program was ended by signal \(signal). It is restarted. \(rescans)"), watched: 0
            )
        case .garbage(let reason):
            self.init(
                code: .programEnded,
                message: Phrase(
                    "The watch program was stopped because \(reason). It is restarted; if this happens again, "
                        + "reinstall synctrain. \(rescans)"),
                watched: 0)
        }
    }
}
