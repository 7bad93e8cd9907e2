import AgentConfiguration
import ControlAPI
import Cryptography
import Foundation
import Logging
import Testing

@testable import SyncAgent

/// The table that an agent hands to its server.
@Suite struct RequestTableTests {
    /// Those that the server answers itself: from the agent's answers, its jobs and the log.
    private static let server: Set<EndpointID> = [
        Endpoints.devices.id, Endpoints.folders.id, Endpoints.deviceCode.id, Endpoints.changePage.id,
        Endpoints.description.id, Endpoints.jobs.id, Endpoints.job.id, Endpoints.endJob.id, Endpoints.records.id,
    ]

    private static func withAgent(_ body: (Agent) async throws -> Void) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "table-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        let places = try AgentPlaces.resolve(home: home, environment: [:])
        try places.createDirectories()
        let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_700_000_000)
        try DeviceIdentityFiles.create(
            in: places, certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
        let file = ConfigurationFile(places, hostName: "here")
        try file.create(
            name: nil, listen: nil, discovery: .init(local: false, global: false),
            relays: .init(isEnabled: false), mapsPorts: false, edits: [])
        let agent = try await Agent(
            AgentSetup(
                places: places, configurationFile: file, transports: [], makeDiscovery: nil,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), requestStop: {}))
        try await body(agent)
    }

    @Test func everyEndpointOfTheAgentHasAHandler() async throws {
        try await Self.withAgent { agent in
            let all = Set(Endpoints.all.map(\.id))
            #expect(agent.handlers.ids == all.subtracting(Self.server))
        }
    }

    @Test func noEndpointHasTwoHandlers() async throws {
        try await Self.withAgent { agent in
            let bytes = EndpointHandlers.Bytes(
                read: { _, _, _, _ in }, readMember: { _, _, _, _ in },
                memberFacts: { _ in MemberFacts(size: 0, isSeekable: false) })
            let empty = EndpointHandlers(bytes: bytes, events: { _, _, _ in })
            var seen = empty.ids
            for group in agent.requestGroups {
                var table = empty
                group.add(to: &table)
                let own = table.ids.subtracting(empty.ids)
                #expect(!own.isEmpty)
                #expect(seen.isDisjoint(with: own), "\(type(of: group)) answers what another group answers")
                seen.formUnion(own)
            }
            // A handler outside of the groups would escape this test.
            #expect(agent.handlers.ids.subtracting(seen) == [Endpoints.stop.id])
        }
    }

    /// An error that is not of the API leaves the table as one of it.
    @Test func errorsAreDescribed() async throws {
        try await Self.withAgent { agent in
            try agent.index.close()
            let error = await #expect(throws: ControlError.self) {
                try await agent.handlers.call(Endpoints.invitations)
            }
            #expect(error?.code == .indexUnusable)
        }
    }
}
