import AgentConfiguration
import AgentContext
import BlockExchange
import Synchronization

/// What devices say that the configuration is to follow: the last word of each admin of its folders, one at a time for each,
/// however often it says something, which devices keep a folder encrypted, and which went over a quota.
final class IntroductionInbox: Sendable {
    /// What a device said of its folders.
    struct Word: Sendable {
        var config: ClusterConfig
        /// Whether it names all folders that the device shares: over some links not all may be named.
        var isComplete: Bool
    }

    enum News: Sendable {
        /// This admin's last word can be taken.
        case introduction(DeviceID)
        case distrust(FolderID, DeviceID)
        case exceeded(DeviceID, DeviceQuota)
    }

    /// For one reader.
    let news: AsyncStream<News>
    private let tell: AsyncStream<News>.Continuation
    private let configuration: RunningConfiguration
    private let waiting = Mutex<[DeviceID: Word]>([:])

    init(_ configuration: RunningConfiguration) {
        self.configuration = configuration
        (news, tell) = AsyncStream.makeStream()
    }

    /// Keeps what a device says of its folders if it is the admin of one, or an introducer.
    func put(_ config: ClusterConfig, from device: DeviceID, isComplete: Bool) {
        let isIntroducer = configuration.current.devices.contains { $0.id == device && $0.isIntroducer }
        let introductions = Introductions(
            admin: device, localDevice: configuration.localDevice, configuration: configuration.current)
        guard !config.isSecondary, introductions.isAdmin || isIntroducer else { return }
        let isFirst = waiting.withLock { waiting in
            defer { waiting[device] = Word(config: config, isComplete: isComplete) }
            return waiting[device] == nil
        }
        if isFirst { tell.yield(.introduction(device)) }
    }

    func take(from device: DeviceID) -> Word? { waiting.withLock { $0.removeValue(forKey: device) } }

    /// Keeps that a device went over a quota, for which it is to be paused.
    func putPause(_ device: DeviceID, over quota: DeviceQuota) { tell.yield(.exceeded(device, quota)) }

    /// Keeps that a device has a folder encrypted, if the configuration does not say so.
    func putDistrust(_ folder: FolderID, _ device: DeviceID) {
        let isKnown = configuration.current.folders.first { $0.id == folder }?.untrusted.contains(device) ?? true
        if !isKnown { tell.yield(.distrust(folder, device)) }
    }
}
