import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import FolderSync
import SyncDecisions
import Transport

/// Searches for absent devices by radio.
package struct RadioFollower: Sendable {
    package let transports: [any LinkTransport]
    package let configuration: RunningConfiguration
    package let devices: DeviceRegistry
    package let folders: FolderRegistry
    package let policies: PolicyBoard
    package let slowLinkPolicy: @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?
    /// A device may be absent, or no longer.
    package let changed: Signal
    package let time: AgentTime

    package init(
        transports: [any LinkTransport], configuration: RunningConfiguration, devices: DeviceRegistry,
        folders: FolderRegistry, policies: PolicyBoard,
        slowLinkPolicy: @escaping @Sendable (FolderID, DeviceID) -> SlowLinkPolicy?, changed: Signal, time: AgentTime
    ) {
        self.transports = transports
        self.configuration = configuration
        self.devices = devices
        self.folders = folders
        self.policies = policies
        self.slowLinkPolicy = slowLinkPolicy
        self.changed = changed
        self.time = time
    }

    /// Runs until cancelled.
    package func run() async {
        let radios = transports.compactMap { $0 as? any RadioTransport }
        guard !radios.isEmpty else { return }
        let (devices, changes) = (devices, devices.linkChanges())
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in changes { changed.notify() } }
            await RadioWatch(
                settings: { settings },
                candidates: { await candidates() },
                search: { await Self.search(for: $0, within: $1, by: radios) },
                found: { findings in for device in devices.all { await device.wasSearchedFor(findings) } },
                changed: changed, time: time
            ).run()
            group.cancelAll()
        }
    }

    private var settings: RadioWatch.Settings {
        let bluetooth = configuration.current.bluetooth
        let cycle =
            bluetooth.scanInterval > 0
            ? DutyCycle(window: .seconds(bluetooth.scanWindow), interval: .seconds(bluetooth.scanInterval)) : nil
        return RadioWatch.Settings(
            cycle: cycle, isHeldBack: policies.held.obstacle(to: .kept(byteCount: 1), over: .radio) != nil)
    }

    private func candidates() async -> [RadioSearch.Candidate] {
        var candidates: [RadioSearch.Candidate] = []
        for device in devices.all {
            guard var candidate = device.radioCandidate(at: time.monotonic()) else { continue }
            let shared = folders.all.filter { $0.exchange.isShared(with: device.id) }
            candidate.isPermitted =
                device.state.bluetooth != .off
                && (shared.isEmpty || shared.contains { mayUseRadio(to: .index, of: $0.id, with: device.id) })
            if candidate.isPermitted, !candidate.isConnected, !candidate.isPaused {
                candidate.hasWork = await device.hasNews() || shared.contains(where: \.needsAnything)
            }
            candidates.append(candidate)
        }
        return candidates
    }

    private func mayUseRadio(
        to purpose: SlowLinkPolicy.Purpose, of folder: FolderID, with device: DeviceID
    ) -> Bool {
        slowLinkPolicy(folder, device)?.obstacle(to: purpose, over: .l2cap) == nil
    }

    private static func search(
        for addresses: Set<LinkAddress>, within limit: Duration, by radios: [any RadioTransport]
    ) async -> RadioWatch.Findings {
        await withTaskGroup(of: RadioWatch.Findings.self) { group in
            for radio in radios {
                let served = addresses.filter { radio.serves($0) }
                if !served.isEmpty { group.addTask { await search(for: served, within: limit, by: radio) } }
            }
            var findings = RadioWatch.Findings(targets: addresses)
            for await part in group {
                findings.heard.formUnion(part.heard)
                findings.obstacles.merge(part.obstacles) { first, _ in first }
                // Whoever was heard is dialled now; the others have their turn in the next window.
                if !part.heard.isEmpty { group.cancelAll() }
            }
            return findings
        }
    }

    private static func search(
        for addresses: Set<LinkAddress>, within limit: Duration, by radio: any RadioTransport
    ) async -> RadioWatch.Findings {
        var findings = RadioWatch.Findings(targets: addresses)
        do {
            findings.heard = try await radio.search(for: addresses, within: limit)
        } catch is CancellationError {
            // Another radio has heard somebody, or the agent stops.
        } catch {
            for address in addresses { findings.obstacles[address] = "\(error)" }
        }
        return findings
    }
}
