import ControlAPI
import Testing

/// Whose error an error is: a handler's is described to the client, the client's own is its own.
@Suite struct EndpointHandlersTests {
    private struct Broken: Error {}
    private struct HungUp: Error {}

    /// - Parameter error: Thrown by all handlers; nil for none.
    private func table(throwing error: (any Error)?) -> EndpointHandlers {
        let broken = { @Sendable () throws -> Void in if let error { throw error } }
        var table = EndpointHandlers(
            bytes: EndpointHandlers.Bytes(
                read: { _, _, _, emit in
                    try broken()
                    try await emit([1])
                },
                readMember: { _, _, start, _ in
                    try broken()
                    try await start(MemberFacts(size: 1, isSeekable: true), nil)
                },
                memberFacts: { _ in
                    try broken()
                    return MemberFacts(size: 1, isSeekable: true)
                }),
            events: { _, _, _ in }, failure: { ControlError(.failed, "described: \($0)") })
        table.on(Endpoints.transfers) {
            try broken()
            return TransferList(transfers: [], total: 0)
        }
        table.on(Endpoints.stop) { _ in try broken() }
        table.on(Endpoints.conflicts) { _, emit in
            try broken()
            let version = Conflict.Version(path: "p", device: "d", name: "n")
            try await emit(Conflict(folder: "f", path: "p", copy: "c", mine: version, theirs: version))
        }
        return table
    }

    private func ask(_ table: EndpointHandlers, _ emit: @Sendable () throws -> Void) async -> [any Error] {
        let path = PathReference(text: "f:p", workingDirectory: "/")
        let member = MemberReference(archive: path, member: "m")
        var errors: [any Error] = []
        func note(_ body: () async throws -> Void) async {
            do { try await body() } catch { errors.append(error) }
        }
        await note { _ = try await table.call(Endpoints.transfers) }
        await note { try await table.call(Endpoints.stop) }
        await note { _ = try await table.memberFacts(member) }
        await note { try await table.call(Endpoints.conflicts, nil) { _ in try emit() } }
        await note {
            try await table.read(path, range: nil) { _, _ in
            } emit: { _ in
                try emit()
            }
        }
        await note {
            try await table.readMember(member, range: nil) { _, _ in
                try emit()
            } emit: { _ in
            }
        }
        return errors
    }

    @Test func errorsOfHandlersAreDescribed() async {
        let errors = await ask(table(throwing: Broken())) {}
        #expect(errors.map { "\($0)" } == Array(repeating: "described: Broken()", count: 6))
    }

    @Test func errorsOfThoseWhoAskAreNot() async {
        let errors = await ask(table(throwing: nil)) { throw HungUp() }
        #expect(errors.count == 3)
        #expect(errors.allSatisfy { $0 is HungUp })
    }

    @Test func aCancellationStaysOne() async {
        let errors = await ask(table(throwing: CancellationError())) {}
        #expect(errors.count == 6)
        #expect(errors.allSatisfy { $0 is CancellationError })
    }
}
