import AgentConfiguration
import AgentContext
import BlockExchange
import IndexStore
import LinkRules
import Logging

/// Follows the admins of folders (further devices, further folders) and introducers (further devices).
struct AdminFollower: Sendable {
    let inbox: IntroductionInbox
    let localDevice: DeviceID
    let changes: ConfigurationChanges
    let index: IndexStore
    let places: AgentPlaces
    /// The quota that a device went over, for which it is paused; nil if it is not.
    let exceededQuota: @Sendable (DeviceID) -> DeviceQuota?
    let time: AgentTime
    let logger: Logger

    /// After so long a pause is tried again that could not be written.
    private static let patience = Duration.seconds(60)

    /// Runs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await news in inbox.news {
                switch news {
                case .introduction(let admin): await follow(admin)
                case .distrust(let folder, let device): await distrust(folder, device)
                case .exceeded(let device, let quota):
                    if await pause(device, over: quota) { continue }
                    group.addTask {
                        // Cancelled, the agent ends.
                        guard (try? await time.clock.sleep(for: Self.patience)) != nil else { return }
                        inbox.putPause(device, over: quota)
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Writes into the configuration that a device keeps a folder encrypted. The folder heeds it already.
    private func distrust(_ folder: FolderID, _ device: DeviceID) async {
        do {
            try await changes.edit { _ in [.distrust(folder, device)] }
        } catch {
            logger.error(
                "cannot write to the configuration that \(device.shortID) keeps \(folder) encrypted: \(error)")
        }
    }

    /// Writes into the configuration that a device is paused. It is already; but until it is written, nobody can resume it. False if
    /// it cannot be written.
    private func pause(_ device: DeviceID, over quota: DeviceQuota) async -> Bool {
        // It may have been removed or resumed since the last try.
        guard exceededQuota(device) == quota else { return true }
        do {
            try await changes.edit { configuration in
                configuration.devices.contains { $0.id == device } ? [.pauseDevice(device, over: quota)] : []
            }
            return true
        } catch {
            logger.error("cannot write to the configuration that \(device.shortID) is paused: \(error)")
            return false
        }
    }

    private func follow(_ admin: DeviceID) async {
        guard let word = inbox.take(from: admin) else { return }
        let config = word.config
        do {
            var edits: [ConfigurationEdit] = []
            try await changes.inTurn { turn in
                let (configuration, declined) = (turn.current, try await index.declinedFolders())
                let introductions = Introductions(
                    admin: admin, localDevice: localDevice, configuration: configuration)
                let decided = try Self.edits(for: word, from: admin, of: localDevice, configuration)
                edits = decided.edits
                for remark in decided.remarks { logger.notice("the introducer \(admin.shortID): \(remark.words)") }
                let place = configuration.offeredFolders ?? places.userHome.map { $0 + "/Sync" }
                for folder in introductions.isAdmin
                    ? introductions.offers(in: config, declined: declined, place: place ?? "") : []
                {
                    guard place != nil, prepare(folder, configuration) else { continue }
                    edits.append(.addFolder(folder))
                }
                guard !edits.isEmpty else { return }
                try await turn.edit(edits)
            }
            for edit in edits {
                logger.notice("as \(admin.shortID) says: \(Self.words(edit))")
                if case .addFolder(let folder) = edit { try await index.forgetPending(folder.id) }
            }
        } catch {
            logger.warning("what \(admin) introduces cannot be followed: \(error)")
        }
    }

    /// What a device's word changes of devices and of shares: as that of an admin, and then, in the configuration as it is by then,
    /// as that of an introducer. So neither adds or removes again what the other has. Pure.
    ///
    /// - Throws: `ConfigurationError` where the configuration cannot be changed so.
    static func edits(
        for word: IntroductionInbox.Word, from device: DeviceID, of localDevice: DeviceID,
        _ configuration: Configuration
    ) throws(ConfigurationError) -> (edits: [ConfigurationEdit], remarks: [IntroducerRule.Remark]) {
        let introductions = Introductions(admin: device, localDevice: localDevice, configuration: configuration)
        var edits = introductions.isAdmin ? introductions.edits(for: word.config) : []
        var changed = configuration
        for edit in edits { changed = try edit.applied(to: changed) }
        let outcome = IntroducerRule(localDevice, changed)
            .outcome(of: word.config, from: device, isComplete: word.isComplete)
        edits += outcome.changes.compactMap { change -> ConfigurationEdit? in
            if case .addDevice(let device) = change, configuration.ignored.contains(device.id) { return nil }
            if case .share(_, let device, _) = change, configuration.ignored.contains(device) { return nil }
            return ConfigurationEdit(change)
        }
        return (edits, outcome.remarks)
    }

    /// Whether the folder has a directory now. What is in the way is left alone, and the offer stays one to be taken by hand.
    private func prepare(_ folder: FolderConfiguration, _ configuration: Configuration) -> Bool {
        do {
            try FolderPreparation.prepare(folder, others: configuration.folders, places: places)
            return true
        } catch {
            logger.warning("the folder \(folder.id) that an admin offers cannot be taken: \(error)")
            return false
        }
    }

    private static func words(_ edit: ConfigurationEdit) -> String {
        switch edit {
        case .addDevice(let device): "device \(device.id) was added"
        case .removeDevice(let id): "device \(id) was removed"
        case .setFolderDevices(let folder, let devices): "folder \(folder) is shared with \(devices.count) devices"
        case .shareFolder(let folder, let device, _): "folder \(folder) is shared with \(device.shortID)"
        case .unshareFolder(let folder, let device): "stopped sharing folder \(folder) with \(device.shortID)"
        case .addFolder(let folder): "folder \(folder.id) was taken to \(folder.path), with nothing selected"
        default: "the configuration was changed"
        }
    }
}
