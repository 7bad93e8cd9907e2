import BlockExchange
import Foundation
import GlobalDiscovery
import LinkSecurity
import TransportTCP

/// Announces and looks up at real discovery servers, for tests in the laboratory of networks; prints a line per event.
///
///     DiscoveryProbe CERT KEY announce SERVER ADDRESS…     until one server has taken it or refused it
///     DiscoveryProbe CERT KEY lookup SERVER DEVICE         prints each address, or the problem
@main struct DiscoveryProbe {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 6 else {
            print("usage: DiscoveryProbe CERT KEY announce|lookup SERVER ADDRESS…|DEVICE")
            exit(2)
        }
        let identity = try LinkIdentity(
            certificatePEM: String(contentsOfFile: words[1], encoding: .utf8),
            keyPEM: String(contentsOfFile: words[2], encoding: .utf8))
        let servers = try DiscoveryServer.list([words[4]])
        let addresses = AnnouncedAddresses.announced(Array(words[5...]), includesLocal: true)
        let isAnnouncing = words[3] == "announce"
        let exchange = try DiscoveryNetworking.exchange(over: DirectStreams(), identity: identity, servers: servers)
        let discovery = GlobalDiscovery(
            servers: servers, exchange: exchange, clock: ContinuousClock(),
            announced: { isAnnouncing ? addresses : [] })
        print("device \(identity.device)")
        if isAnnouncing { await announce(discovery) } else { try await lookUp(words[5], discovery) }
    }

    private static func announce(_ discovery: GlobalDiscovery) async {
        let (events, continuation) = AsyncStream.makeStream(of: GlobalDiscoveryEvent.self)
        await withTaskGroup { tasks in
            tasks.addTask { await discovery.run(found: { _ in }) { continuation.yield($0) } }
            for await event in events {
                switch event {
                case .announced(_, let addresses):
                    let next = discovery.states.first?.announcing?.untilNext
                    print("announced \(addresses.joined(separator: " ")); next in \(next?.components.seconds ?? -1) s")
                case .announcementFailed(_, let problem), .lookupFailed(_, let problem): print("problem \(problem)")
                }
                break
            }
            tasks.cancelAll()
        }
    }

    private static func lookUp(_ text: String, _ discovery: GlobalDiscovery) async throws {
        let device = try DeviceID(parsing: text)
        await withTaskGroup { tasks in
            tasks.addTask { await discovery.run(found: { _ in }) }
            // Asks as soon as `run` runs: until then nothing was tried.
            while discovery.states.first?.lookingUp == .init() {
                for address in await discovery.addresses(of: device) { print("address \(address)") }
                await Task.yield()
            }
            print(discovery.problem.map { "problem \($0)" } ?? "done")
            tasks.cancelAll()
        }
    }
}
